@testable import AsyncDownloads

/// Remembers the levels that an observer was told, and hands them to a test that waits for them.
final class LevelRecorder: Sendable {
    private let recorded = Mutex<[MemoryPressure]>([])
    private let stream: AsyncStream<MemoryPressure>
    private let continuation: AsyncStream<MemoryPressure>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    /// All of them so far.
    var levels: [MemoryPressure] { recorded.withLock { $0 } }

    /// The observer.
    @Sendable func record(_ level: MemoryPressure) {
        recorded.withLock { $0.append(level) }
        continuation.yield(level)
    }

    /// Waits for the next one that no test has waited for yet.
    func next() async -> MemoryPressure? {
        for await level in stream { return level }
        return nil
    }
}
