/// A limit on the concurrent downloads of a batch; a child task performs each download.
///
/// Downloads that are waiting because of their hosts or for a retry (``HeldUpDownloads``) don't count toward the limit.
final class BatchRoom: Sendable {
    private struct State {
        var downloads: [Int: Download] = [:]
        var lastNumber = 0
        var heldUp: HeldUpDownloads
        /// The number of child tasks that have ended since ``takeEnded()`` last counted one.
        var endedCount = 0
        var hasFailed = false
        /// The number of running bodies, and the child tasks that wait for one of them to end.
        var bodyCount = 0
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let downloader: Downloader
    private let limit: Int
    /// A stream with a value for each change after which another download may start.
    ///
    /// A discarding task group doesn't report the end of its child tasks, so each child task reports its own.
    private let changes: AsyncStream<Void>
    private let change: AsyncStream<Void>.Continuation
    private let observer: Int
    private let state: Mutex<State>

    init(_ downloader: Downloader, limit: Int) {
        (self.downloader, self.limit) = (downloader, limit)
        state = Mutex(State(heldUp: HeldUpDownloads(limit: limit, in: downloader)))
        let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        (self.changes, self.change) = (changes, change)
        observer = downloader.environment.scheduler.observeHeldUp { change.yield() }
    }

    /// Ends the observation of the scheduler; must be called once.
    func close() {
        downloader.environment.scheduler.removeObserver(observer)
    }

    /// Waits until another download may start, and returns true; returns false after a failure or a cancellation.
    func wait() async -> Bool {
        var unread = changes.makeAsyncIterator()
        while true {
            let heldUp = downloader.environment.scheduler.heldUp
            let hasRoom: Bool? = state.withLock { state in
                if state.hasFailed { return nil }
                return state.heldUp.leaveRoom(among: state.downloads.values, heldUp)
            }
            guard let hasRoom else { return false }
            if hasRoom { return true }
            if await unread.next() == nil { return false }
        }
    }

    /// Starts a download, which counts until the body passed to ``run(_:_:)`` with its number has returned.
    func start(_ request: DownloadRequest) -> (number: Int, download: Download) {
        let download = downloader.start(request)
        return state.withLock { state in
            state.lastNumber += 1
            state.downloads[state.lastNumber] = download
            return (state.lastNumber, download)
        }
    }

    /// Counts a child task that has ended, and returns true; returns false if every ended task was already counted.
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

    /// Calls a body when fewer bodies are running than the limit allows, unless one has failed.
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
            // The first failed body cancels the others, and the batch throws its error.
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
