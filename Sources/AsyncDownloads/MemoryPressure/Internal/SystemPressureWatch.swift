internal import Dispatch

/// A watch of the system's memory pressure, which converts an adapter's signs into calls of the observer.
final class SystemPressureWatch: MemoryPressureWatch {
    private struct State: Sendable {
        var gauge = PressureGauge()
        var timer: (any ScheduledAction)?
        var endSource: (@Sendable () -> Void)?
        var isStopped = false
    }

    private let state = Mutex(State())
    /// The queue that puts the observer's calls, from the source and from the timer, in one order.
    private let queue = DispatchQueue(label: "async-downloads.memory-pressure", qos: .utility)
    private let time: any TimeSource
    private let observer: @Sendable (MemoryPressure) -> Void

    init(time: any TimeSource, observer: @escaping @Sendable (MemoryPressure) -> Void) {
        self.time = time
        self.observer = observer
    }

    /// Sets the closure that ends the source of the signs when the watch is stopped.
    func setSource(end: @escaping @Sendable () -> Void) {
        state.withLock { $0.endSource = end }
    }

    /// Processes a sign and returns after the observer's call, so that a source with many signs has to wait.
    func take(_ sign: PressureSign) {
        queue.sync { update { gauge, now in gauge.take(sign, at: now) } }
    }

    func stop() {
        let (timer, endSource) = state.withLock { state in
            state.isStopped = true
            defer { (state.timer, state.endSource) = (nil, nil) }
            return (state.timer, state.endSource)
        }
        timer?.cancel()
        endSource?()
    }

    private func update(_ change: (inout PressureGauge, Duration) -> MemoryPressure?) {
        let now = time.now
        let level = state.withLock { state in state.isStopped ? nil : change(&state.gauge, now) }
        setTimer(now)
        if let level { observer(level) }
    }

    // One timer is sufficient: after it fires, it is scheduled again for the remaining signs.
    private func setTimer(_ now: Duration) {
        let due = state.withLock { state in
            state.isStopped || state.timer != nil ? nil : state.gauge.nextChange
        }
        guard let due else { return }
        // The thread of the time source serves others as well, so it must not wait for an observer.
        let timer = time.schedule(after: due - now) { [weak self] in
            guard let watch = self else { return }
            watch.queue.async { watch.timerFired() }
        }
        let isLate = state.withLock { state in
            if !state.isStopped { state.timer = timer }
            return state.isStopped
        }
        if isLate { timer.cancel() }
    }

    private func timerFired() {
        state.withLock { $0.timer = nil }
        update { gauge, now in gauge.expireSigns(at: now) }
    }
}
