internal import Dispatch

/// Timers that share one dispatch source, because creating and canceling a source costs as much as a small download.
///
/// A canceled timer releases its action, with everything the action holds, at once. A block that is passed to
/// `asyncAfter` would stay in its queue until its time, even if it was canceled: a server that downloads with deadlines
/// of an hour would keep a block for every download of that hour.
final class TimerQueue: @unchecked Sendable {  // Dispatch sources are thread-safe.
    private struct State {
        var deadlines = Heap<Int, Duration>()
        var actions: [Int: @Sendable () -> Void] = [:]
        var lastNumber = 0
        /// The time for which the source is set; nil if it isn't set.
        var wakeUp: Duration?
    }

    private let queue = DispatchQueue(label: "async-downloads.time", qos: .utility)
    private let source: any DispatchSourceTimer
    private let state = Mutex(State())

    init() {
        source = DispatchSource.makeTimerSource(queue: queue)
        source.setEventHandler { [unowned self] in fire() }
        source.activate()
    }

    deinit {
        source.cancel()
    }

    /// Calls `action` once at `deadline`, on the queue, unless the timer is canceled before that.
    func schedule(at deadline: Duration, _ action: @escaping @Sendable () -> Void) -> any ScheduledAction {
        let number = state.withLock { state in
            state.lastNumber += 1
            state.actions[state.lastNumber] = action
            state.deadlines[state.lastNumber] = deadline
            setSource(&state)
            return state.lastNumber
        }
        return Timer(queue: self, number: number)
    }

    private func cancel(_ number: Int) {
        // The source stays set: at its time it finds nothing to do.
        _ = state.withLock { state in
            state.deadlines[number] = nil
            return state.actions.removeValue(forKey: number)
        }
    }

    private func fire() {
        let now = SystemTimeSource().now
        let actions = state.withLock { state in
            state.wakeUp = nil
            var due: [@Sendable () -> Void] = []
            while let first = state.deadlines.first, first.order <= now {
                state.deadlines[first.key] = nil
                if let action = state.actions.removeValue(forKey: first.key) { due.append(action) }
            }
            setSource(&state)
            return due
        }
        for action in actions { action() }
    }

    /// Sets the source to the first deadline if that is earlier than the time for which it is set.
    private func setSource(_ state: inout State) {
        guard let first = state.deadlines.first?.order, state.wakeUp.map({ first < $0 }) ?? true else { return }
        state.wakeUp = first
        // Floating point, because a 32-bit `Int`, as on some watches, overflows after two seconds in nanoseconds.
        source.schedule(deadline: .now() + max(.zero, first - SystemTimeSource().now) / .seconds(1))
    }

    private struct Timer: ScheduledAction {
        let queue: TimerQueue
        let number: Int

        func cancel() { queue.cancel(number) }
    }
}
