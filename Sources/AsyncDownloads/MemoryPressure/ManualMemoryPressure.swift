/// A source of memory pressure that a program or a test reports itself.
///
/// ```swift
/// let pressure = ManualMemoryPressure()
/// var configuration = Downloader.Configuration()
/// configuration.memoryPressure = .manual(pressure)
/// let downloader = Downloader(configuration: configuration)
/// pressure.report(.warning)
/// ```
///
/// One source may serve several downloaders. All members may be used from any thread.
public final class ManualMemoryPressure: Sendable {
    private struct State: Sendable {
        var level = MemoryPressure.normal
        var observers: [Int: @Sendable (MemoryPressure) -> Void] = [:]
        var lastNumber = 0
        /// The reports that haven't been delivered, in the order in which they were made.
        var reports: [(observer: Int, level: MemoryPressure)] = []
        /// Whether a thread is delivering reports; it also delivers the reports that other threads add.
        var isDelivering = false

        mutating func startDelivery() -> Bool {
            defer { isDelivering = true }
            return !isDelivering
        }

        /// Removes and returns the next report whose observer is still registered; ends the delivery if there is none.
        mutating func nextReport() -> (observer: @Sendable (MemoryPressure) -> Void, level: MemoryPressure)? {
            while !reports.isEmpty {
                let report = reports.removeFirst()
                if let observer = observers[report.observer] { return (observer, report.level) }
            }
            isDelivering = false
            return nil
        }
    }

    private let state = Mutex(State())

    /// Creates a source whose level is ``MemoryPressure/normal``.
    public init() {}

    /// The level that was reported last.
    public var level: MemoryPressure { state.withLock { $0.level } }

    /// Reports a level of memory pressure to every downloader that uses this source.
    ///
    /// The level applies until the next report, including to downloaders that start to watch later. If the same level
    /// is reported again, downloaders release memory again. This method returns after all downloaders have been
    /// notified, with one exception: if another thread, or a caller higher in the call stack, is already notifying
    /// downloaders, it also delivers this report, after the earlier ones.
    public func report(_ level: MemoryPressure) {
        state.withLock { state in
            state.level = level
            for number in state.observers.keys.sorted() { state.reports.append((number, level)) }
        }
        emit()
    }

    private func emit() {
        guard state.withLock({ $0.startDelivery() }) else { return }
        while let report = state.withLock({ $0.nextReport() }) { report.observer(report.level) }
    }
}

extension ManualMemoryPressure: MemoryPressureMonitor {
    /// Reports the current level before this method returns, unless it is normal.
    func watch(_ observer: @escaping @Sendable (MemoryPressure) -> Void) -> any MemoryPressureWatch {
        let number = state.withLock { state in
            state.lastNumber += 1
            state.observers[state.lastNumber] = observer
            if state.level > .normal { state.reports.append((state.lastNumber, state.level)) }
            return state.lastNumber
        }
        emit()
        return Watch(pressure: self, number: number)
    }

    private struct Watch: MemoryPressureWatch {
        let pressure: ManualMemoryPressure
        let number: Int

        func stop() {
            // The observer is released outside the lock, because that may run any code.
            _ = pressure.state.withLock { $0.observers.removeValue(forKey: number) }
        }
    }
}
