@testable import AsyncDownloads

/// A recorder of the levels that an observer receives, which lets a test wait for them.
final class LevelRecorder: Sendable {
    private let recorded = Mutex<[MemoryPressure]>([])
    private let stream: AsyncStream<MemoryPressure>
    private let continuation: AsyncStream<MemoryPressure>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    /// All levels so far.
    var levels: [MemoryPressure] { recorded.withLock { $0 } }

    /// The observer to register.
    @Sendable func record(_ level: MemoryPressure) {
        recorded.withLock { $0.append(level) }
        continuation.yield(level)
    }

    /// Waits for the next level that no earlier call returned.
    func next() async -> MemoryPressure? {
        for await level in stream { return level }
        return nil
    }
}
