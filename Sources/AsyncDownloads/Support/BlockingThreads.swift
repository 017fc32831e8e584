internal import Dispatch
internal import Foundation

/// The threads that perform operations which may wait: for a disk, for a name server, or for another operation.
///
/// A few threads perform all operations, because a thread for each one takes more memory and processor time than a
/// short operation. An operation that runs for a while is taken to be waiting, and another thread takes its place. So a
/// volume that doesn't respond delays no operation of other volumes, and operations may wait for one another. The
/// number of threads has no limit.
final class BlockingThreads: Sendable {
    typealias Operation = @Sendable () -> Void

    private static let shared = BlockingThreads(width: 8)

    /// The time after which operations that are still running no longer count, while others wait for a thread.
    private static let period = DispatchTimeInterval.milliseconds(10)
    /// The time after which a thread without work ends.
    private static let idleTime = DispatchTimeInterval.seconds(5)

    /// The work of a thread.
    fileprivate enum Work: Sendable {
        /// One operation, which began in this period, and then the waiting ones.
        case perform(Operation, period: Int)
        /// The start of waiting operations in place of those that take long.
        case watch
    }

    /// A thread without work, or one that was just given work.
    fileprivate final class IdleThread: Sendable {
        let signal = DispatchSemaphore(value: 0)
        let work = Mutex<Work?>(nil)
    }

    fileprivate struct State {
        var load: BlockingLoad
        var waiting: [Operation] = []
        /// The threads without work; the one that worked last is the last one.
        var idle: [IdleThread] = []
        /// Whether a thread watches the running operations, which is necessary while others wait.
        var isWatched = false
    }

    private let state: Mutex<State>

    /// Creates a group of threads; each thread starts when it is needed.
    ///
    /// - Parameter width: The number of operations that run at a time, without those that take long.
    init(width: Int) {
        state = Mutex(State(load: BlockingLoad(width: width)))
    }

    /// Performs the operation on a thread that may be blocked.
    ///
    /// The concurrent queues of the package have one thread for each core, so blocking work there would delay other
    /// work.
    static func run(_ operation: @escaping Operation) { shared.run(operation) }

    /// Performs the operation on one of these threads.
    func run(_ operation: @escaping Operation) {
        let (thread, work) = state.withLock { state -> (IdleThread?, Work?) in
            if state.load.hasRoom {
                return (state.idle.popLast(), .perform(operation, period: state.load.begin()))
            }
            state.waiting.append(operation)
            guard !state.isWatched else { return (nil, nil) }
            state.isWatched = true
            return (state.idle.popLast(), .watch)
        }
        if let work { give(work, to: thread) }
    }

    /// Gives the work to the thread, or to a new one.
    private func give(_ work: Work, to thread: IdleThread?) {
        guard let thread else {
            let new = Thread { [self] in live(work) }
            new.name = "async-downloads.blocking"
            new.qualityOfService = .userInitiated
            return new.start()
        }
        thread.work.withLock { $0 = work }
        thread.signal.signal()
    }

    /// Does the first work of a new thread, and then what it is given, until it had nothing to do for a while.
    private func live(_ first: Work) {
        let thread = IdleThread()
        var next: Work? = first
        while let work = next {
            switch work {
            case .perform(let operation, let period): perform(operation, since: period, then: thread)
            case .watch: watch(then: thread)
            }
            next = nextWork(of: thread)
        }
    }

    /// Performs the operation and waiting ones; then the thread is idle.
    private func perform(_ first: @escaping Operation, since firstPeriod: Int, then thread: IdleThread) {
        var (operation, period) = (first, firstPeriod)
        while true {
            withAutoreleasePool(operation)
            let next = state.withLock { state -> (Operation, Int)? in
                state.load.end(begunIn: period)
                if let next = state.begin() { return next }
                state.idle.append(thread)
                return nil
            }
            guard let next else { return }
            (operation, period) = next
        }
    }

    /// Starts waiting operations in place of those that take long, until none is waiting; then the thread is idle.
    private func watch(then thread: IdleThread) {
        while true {
            // Nothing signals this semaphore while the thread has work.
            _ = thread.signal.wait(timeout: .now() + Self.period)
            let started = state.withLock { state -> [(IdleThread?, Work)]? in
                state.load.endPeriod()
                var started: [(IdleThread?, Work)] = []
                while let (operation, period) = state.begin() {
                    started.append((state.idle.popLast(), .perform(operation, period: period)))
                }
                guard started.isEmpty, state.waiting.isEmpty else { return started }
                state.isWatched = false
                state.idle.append(thread)
                return nil
            }
            guard let started else { return }
            for (thread, work) in started { give(work, to: thread) }
        }
    }

    /// Waits for work; returns nil if the thread has to end.
    private func nextWork(of thread: IdleThread) -> Work? {
        if thread.signal.wait(timeout: .now() + Self.idleTime) == .timedOut {
            let isIdle = state.withLock { state in
                guard let index = state.idle.firstIndex(where: { $0 === thread }) else { return false }
                state.idle.remove(at: index)
                return true
            }
            if isIdle { return nil }
            // Another thread has just taken this one from the list, and signals it.
            thread.signal.wait()
        }
        return thread.work.withLock { $0.take() }
    }
}

extension BlockingThreads.State {
    /// Takes the next waiting operation, and returns it with the period in which it begins; nil if there is none, or
    /// no room for it.
    fileprivate mutating func begin() -> (BlockingThreads.Operation, Int)? {
        guard load.hasRoom, !waiting.isEmpty else { return nil }
        return (waiting.removeFirst(), load.begin())
    }
}

/// The number of running operations, without those that take long.
///
/// Time is divided into periods. An operation counts in the period in which it began, and in the next one.
struct BlockingLoad: Sendable {
    /// The number of operations that may count at a time.
    let width: Int
    private var period = 0
    /// The number of running operations that began in this period.
    private var recentCount = 0
    /// The number of running operations that began in the previous period.
    private var olderCount = 0

    init(width: Int) {
        self.width = width
    }

    /// Whether another operation may begin.
    var hasRoom: Bool { recentCount + olderCount < width }

    /// Counts an operation, and returns the period in which it begins.
    mutating func begin() -> Int {
        recentCount += 1
        return period
    }

    /// Stops counting an operation that has ended.
    mutating func end(begunIn period: Int) {
        switch self.period - period {
        case 0: recentCount -= 1
        case 1: olderCount -= 1
        default: break
        }
    }

    /// Begins the next period.
    mutating func endPeriod() {
        period += 1
        (olderCount, recentCount) = (recentCount, 0)
    }
}

/// Performs the operation; on Apple's platforms, objects that it releases automatically don't outlive it.
private func withAutoreleasePool(_ operation: () -> Void) {
    #if canImport(ObjectiveC)
    autoreleasepool(invoking: operation)
    #else
    operation()
    #endif
}
