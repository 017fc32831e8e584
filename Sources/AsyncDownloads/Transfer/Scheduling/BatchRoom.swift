/// The room of a batch for further downloads, each of which a child task of the batch carries out.
///
/// Downloads that wait because their hosts can't be reached or ask to wait make room for others.
struct BatchRoom: Sendable {
    private enum Change: Sendable {
        case ended
        case othersWait
    }

    private let scheduler: TransferScheduler
    private let limit: Int
    // A group that discards results doesn't report when a child task ends, so each child task does.
    private let changes: AsyncStream<Change>
    private let change: AsyncStream<Change>.Continuation
    private let observer: Int
    private var runningCount = 0

    init(_ scheduler: TransferScheduler, limit: Int) {
        (self.scheduler, self.limit) = (scheduler, limit)
        let (changes, change) = AsyncStream.makeStream(of: Change.self)
        (self.changes, self.change) = (changes, change)
        observer = scheduler.observeHeldUp { change.yield(.othersWait) }
    }

    /// Ends the observation of the scheduler; must be called once.
    func close() {
        scheduler.removeObserver(observer)
    }

    /// Waits until another download may start, counts it, and returns true; returns false after a failure, and if the
    /// task is canceled.
    mutating func wait() async -> Bool {
        var unread = changes.makeAsyncIterator()
        while runningCount >= scheduler.room(within: limit) {
            guard let change = await unread.next() else { return false }
            if case .ended = change { runningCount -= 1 }
        }
        runningCount += 1
        return true
    }

    /// Runs the body of a child task, and reports its end.
    func run<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            let value = try await body()
            change.yield(.ended)
            return value
        } catch {
            change.finish()
            throw error
        }
    }
}
