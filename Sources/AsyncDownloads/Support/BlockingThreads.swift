internal import Dispatch

internal import class Foundation.ProcessInfo

/// The threads that perform operations that may wait: for a disk, for a name server, or for another operation.
///
/// A few threads perform all operations, because a thread for each one takes more memory and processor time than a
/// short operation. Operations that take long are assumed to be waiting, and more threads start, twice as many each
/// time. So operations may wait for one another, and a volume that doesn't respond delays the operations of other
/// volumes for a fraction of a second only. This is different for a group with a maximum: if all of its threads wait for
/// a volume, its other operations wait, too.
final class BlockingThreads: Sendable {
    typealias Operation = @Sendable () -> Void

    private static let coreCount = ProcessInfo.processInfo.activeProcessorCount
    /// The width is the number of processors, because more threads would only be resumed more often, but at least four:
    /// on a slow volume, an operation may wait for some milliseconds without taking long.
    private static let shared = BlockingThreads(width: max(4, coreCount))

    /// The threads that read whole files: such an operation takes long because it uses the processor.
    static let readers = BlockingThreads(width: coreCount, maximum: 8 * coreCount)

    /// The length of a period of ``BlockingLoad``.
    private static let period = DispatchTimeInterval.milliseconds(10)

    /// The work of a thread.
    fileprivate enum Work: Sendable {
        /// Performing an operation that counts in this period, and then waiting ones.
        case perform(Operation, period: Int)
        /// Starting waiting operations when running ones take long.
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
        var waiting = Fifo<Operation>()
        /// The threads without work; the one that worked last is the last one.
        var idle: [Worker] = []
        /// Whether a thread watches the running operations, which is necessary while others wait.
        var isWatched = false
        /// Whether waiting work will be started, after the system has refused a thread.
        var isStartingLater = false
    }

    private let state: Mutex<State>
    private let idleTime: DispatchTimeInterval
    private let startThread: @Sendable (@escaping Operation) -> Bool

    /// Creates a group of threads; each thread starts when it is needed.
    ///
    /// - Parameters:
    ///   - width: The number of operations that run at a time, not counting those that take long.
    ///   - maximum: The maximum number of operations that run at a time. If there is one, operations must not wait for
    ///     one another.
    ///   - idleTime: The time after which a thread without work ends.
    ///   - startThread: A function that starts a thread, and returns false if the system has refused it.
    init(
        width: Int, maximum: Int = .max, idleTime: DispatchTimeInterval = .seconds(5),
        startThread: @escaping @Sendable (@escaping Operation) -> Bool = { SystemThread.startIfPossible($0) }
    ) {
        state = Mutex(State(load: BlockingLoad(width: width, maximum: maximum)))
        (self.idleTime, self.startThread) = (idleTime, startThread)
    }

    /// Performs the operation on a thread that may be blocked.
    ///
    /// Swift's tasks share one thread for each core, so an operation that waits there would delay other tasks.
    static func run(_ operation: @escaping Operation) { shared.run(operation) }

    /// Performs the operation on one of these threads.
    func run(_ operation: @escaping Operation) {
        state.withLock { $0.waiting.append(operation) }
        guard let (work, idle) = state.withLock({ $0.next() }), !give(work, to: idle) else { return }
        startLater()
    }

    /// Starts waiting work after a while, because the system has refused a thread.
    ///
    /// The calling thread isn't blocked, because it may be one of those that could perform the operation.
    private func startLater() {
        guard state.withLock({ $0.startsLater() }) else { return }
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.period) { [self] in
            state.withLock { $0.isStartingLater = false }
            while let (work, idle) = state.withLock({ $0.next() }) {
                guard give(work, to: idle) else { return startLater() }
            }
        }
    }

    /// Gives the work to the idle thread, or to a new one; takes it back and returns false if the system refuses it.
    private func give(_ work: Work, to idle: Worker?) -> Bool {
        let worker = idle ?? Worker()
        worker.give(work)
        guard idle == nil else {
            worker.signal.signal()
            return true
        }
        let isStarted = startThread { [self] in
            repeat {
                while performWork(of: worker) {}
            } while isGivenWork(worker)
        }
        if !isStarted { state.withLock { $0.takeBack(work) } }
        return isStarted
    }

    /// Performs the work of a thread; returns whether the thread has taken other work, and false if it is idle.
    private func performWork(of worker: Worker) -> Bool {
        guard let period = performOperation(of: worker) else {
            watch(as: worker)
            return false
        }
        return state.withLock { state in
            state.load.end(begunIn: period)
            guard let next = state.begin() else {
                state.idle.append(worker)
                return false
            }
            worker.give(next)
            return true
        }
    }

    /// Performs an operation and releases it, and returns the period in which it began; nil if the work is to watch.
    private func performOperation(of worker: Worker) -> Int? {
        guard case .perform(let operation, let period)? = worker.takeWork() else { return nil }
        withAutoreleasePool(operation)
        return period
    }

    /// Starts waiting operations when running ones take long, until none is waiting; then the thread is idle.
    private func watch(as worker: Worker) {
        while true {
            // Nothing signals this semaphore while the thread has work.
            _ = worker.signal.wait(timeout: .now() + Self.period)
            let isDone = state.withLock { state in
                state.load.endPeriod()
                guard state.waiting.isEmpty else { return false }
                state.isWatched = false
                state.idle.append(worker)
                return true
            }
            if isDone { return }
            while let (work, idle) = state.withLock({ $0.beginOnIdle() }), give(work, to: idle) {}
        }
    }

    /// Waits until the idle thread is given work; returns false if the thread has to end.
    private func isGivenWork(_ worker: Worker) -> Bool {
        guard worker.signal.wait(timeout: .now() + idleTime) == .timedOut else { return true }
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
        guard load.hasRoom, let operation = waiting.popFirst() else { return nil }
        return .perform(operation, period: load.begin())
    }

    /// Takes the next waiting operation, and the idle thread that performs it, if there is one.
    fileprivate mutating func beginOnIdle() -> (work: BlockingThreads.Work, idle: BlockingThreads.Worker?)? {
        begin().map { ($0, idle.popLast()) }
    }

    /// Takes the next work, which is to watch if an operation waits for room and no thread watches.
    fileprivate mutating func next() -> (work: BlockingThreads.Work, idle: BlockingThreads.Worker?)? {
        if let started = beginOnIdle() { return started }
        guard !waiting.isEmpty, !isWatched else { return nil }
        isWatched = true
        return (.watch, idle.popLast())
    }

    /// Returns whether waiting work isn't going to be started yet, and records that it is.
    fileprivate mutating func startsLater() -> Bool {
        defer { isStartingLater = true }
        return !isStartingLater
    }

    /// Undoes the beginning of work for which there is no thread.
    fileprivate mutating func takeBack(_ work: BlockingThreads.Work) {
        switch work {
        case .perform(let operation, let period):
            load.end(begunIn: period)
            waiting.putBack(operation)
        case .watch:
            isWatched = false
        }
    }
}
