/// The room of a batch for further downloads, each of which a child task of the batch carries out.
///
/// Downloads that wait because their hosts can't be reached or ask to wait make room for others.
final class BatchRoom: Sendable {
    private struct State {
        var downloads: [Int: Download] = [:]
        var lastNumber = 0
        var heldUp = HeldUpDownloads()
        /// The number of child tasks that have ended since ``takeEnded()`` last counted one.
        var endedCount = 0
        var hasFailed = false
        /// The number of bodies that run, and the child tasks that wait until fewer do.
        var bodyCount = 0
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let downloader: Downloader
    private let limit: Int
    /// A value for each change after which there may be more room.
    ///
    /// A group that discards results doesn't report when a child task ends, so each child task does.
    private let changes: AsyncStream<Void>
    private let change: AsyncStream<Void>.Continuation
    private let observer: Int
    private let state = Mutex(State())

    init(_ downloader: Downloader, limit: Int) {
        (self.downloader, self.limit) = (downloader, limit)
        let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        (self.changes, self.change) = (changes, change)
        observer = downloader.environment.scheduler.observeHeldUp { change.yield() }
    }

    /// Ends the observation of the scheduler; must be called once.
    func close() {
        downloader.environment.scheduler.removeObserver(observer)
    }

    /// Waits until another download may start, and returns true; returns false after a failure, and if the task is
    /// canceled.
    func wait() async -> Bool {
        var unread = changes.makeAsyncIterator()
        while true {
            let heldUp = downloader.environment.scheduler.heldUp
            let hasRoom: Bool? = state.withLock { state in
                if state.hasFailed { return nil }
                return state.heldUp.leaveRoom(among: state.downloads.values, heldUp, limit: limit)
            }
            guard let hasRoom else { return false }
            if hasRoom { return true }
            if await unread.next() == nil { return false }
        }
    }

    /// Starts a download, which counts until ``end(_:)`` is called with its number.
    func start(_ request: DownloadRequest) -> (number: Int, download: Download) {
        let download = downloader.start(request)
        return state.withLock { state in
            state.lastNumber += 1
            state.downloads[state.lastNumber] = download
            return (state.lastNumber, download)
        }
    }

    /// Counts one of the child tasks that have ended; returns false if there is none.
    func takeEnded() -> Bool {
        state.withLock { state in
            guard state.endedCount > 0 else { return false }
            state.endedCount -= 1
            return true
        }
    }

    /// Runs the body of a child task, and reports its end.
    func run<Value>(_ number: Int, _ body: () async throws -> Value) async throws -> Value {
        do {
            let value = try await body()
            state.withLock { state in
                state.downloads[number] = nil
                state.endedCount += 1
            }
            change.yield()
            return value
        } catch {
            state.withLock { $0.hasFailed = true }
            change.yield()
            throw error
        }
    }

    /// Calls a body as soon as fewer than the limit run, unless one has failed.
    func runBody(_ body: () async throws -> Void) async throws {
        await withCheckedContinuation { continuation in
            let runsNow = state.withLock { state in
                guard state.bodyCount >= limit else {
                    state.bodyCount += 1
                    return true
                }
                state.waiters.append(continuation)
                return false
            }
            if runsNow { continuation.resume() }
        }
        do {
            // A body that has failed cancels the others, and its error is that of the batch.
            if state.withLock({ $0.hasFailed }) { return leaveBody() }
            if Task.isCancelled { throw DownloadError(.cancelled) }
            try await body()
            leaveBody()
        } catch {
            state.withLock { $0.hasFailed = true }
            leaveBody()
            throw error
        }
    }

    private func leaveBody() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if state.waiters.isEmpty {
                state.bodyCount -= 1
                return nil
            }
            return state.waiters.removeFirst()
        }
        next?.resume()
    }
}
