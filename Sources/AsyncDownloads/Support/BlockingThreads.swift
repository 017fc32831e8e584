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
        /// One operation, which began in this period, and then waiting ones.
        case perform(Operation, period: Int)
        /// The start of waiting operations in place of those that take long.
        case watch
    }

    /// One of the threads.
    fileprivate final class Worker: Sendable {
        let signal = DispatchSemaphore(value: 0)
        private let work = Mutex<Work?>(nil)

        func give(_ work: Work) { self.work.withLock { $0 = work } }

        func takeWork() -> Work? { work.withLock { $0.take() } }
    }

    fileprivate struct State {
        var load: BlockingLoad
        var waiting: [Operation] = []
        /// The threads without work; the one that worked last is the last one.
        var idle: [Worker] = []
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
        let (worker, work) = state.withLock { state -> (Worker?, Work?) in
            state.waiting.append(operation)
            if let work = state.begin() { return (state.idle.popLast(), work) }
            guard !state.isWatched else { return (nil, nil) }
            state.isWatched = true
            return (state.idle.popLast(), .watch)
        }
        if let work { give(work, to: worker) }
    }

    /// Gives the work to the idle thread, or to a new one.
    private func give(_ work: Work, to idle: Worker?) {
        let worker = idle ?? Worker()
        worker.give(work)
        if idle == nil { startThread(of: worker) } else { worker.signal.signal() }
    }

    private func startThread(of worker: Worker) {
        let thread = Thread { [self] in
            repeat {
                while performWork(of: worker) {}
            } while isGivenWork(worker)
        }
        thread.name = "async-downloads.blocking"
        thread.qualityOfService = .userInitiated
        thread.start()
    }

    /// Performs the work of a thread; returns whether the thread has taken other work, or is idle.
    ///
    /// The function performs one operation, so that nothing keeps the operation after it.
    private func performWork(of worker: Worker) -> Bool {
        switch worker.takeWork() {
        case .perform(let operation, let period)?:
            withAutoreleasePool(operation)
            return state.withLock { state in
                state.load.end(begunIn: period)
                guard let next = state.begin() else {
                    state.idle.append(worker)
                    return false
                }
                worker.give(next)
                return true
            }
        case .watch?:
            watch(as: worker)
            return false
        case nil: return false
        }
    }

    /// Starts waiting operations in place of those that take long, until none is waiting; then the thread is idle.
    private func watch(as worker: Worker) {
        while true {
            // Nothing signals this semaphore while the thread has work.
            _ = worker.signal.wait(timeout: .now() + Self.period)
            let started = state.withLock { state -> [(Worker?, Work)]? in
                state.load.endPeriod()
                var started: [(Worker?, Work)] = []
                while let work = state.begin() { started.append((state.idle.popLast(), work)) }
                guard started.isEmpty, state.waiting.isEmpty else { return started }
                state.isWatched = false
                state.idle.append(worker)
                return nil
            }
            guard let started else { return }
            for (idle, work) in started { give(work, to: idle) }
        }
    }

    /// Waits until the idle thread is given work; returns false if the thread has to end.
    private func isGivenWork(_ worker: Worker) -> Bool {
        guard worker.signal.wait(timeout: .now() + Self.idleTime) == .timedOut else { return true }
        let isIdle = state.withLock { state in
            guard let index = state.idle.firstIndex(where: { $0 === worker }) else { return false }
            state.idle.remove(at: index)
            return true
        }
        if isIdle { return false }
        // Another thread has just taken this one from the list, and signals it.
        worker.signal.wait()
        return true
    }
}

extension BlockingThreads.State {
    /// Takes the next waiting operation as the work of a thread; nil if there is none, or no room for it.
    fileprivate mutating func begin() -> BlockingThreads.Work? {
        guard load.hasRoom, !waiting.isEmpty else { return nil }
        return .perform(waiting.removeFirst(), period: load.begin())
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
