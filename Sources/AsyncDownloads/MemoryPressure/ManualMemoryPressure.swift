/// Memory pressure that a program, or a test, reports by itself.
///
/// ```swift
/// let pressure = ManualMemoryPressure()
/// var configuration = Downloader.Configuration()
/// configuration.memoryPressure = .manual(pressure)
/// let downloader = Downloader(configuration: configuration)
/// pressure.report(.warning)
/// ```
///
/// One may serve several downloaders. All members may be used from any thread.
public final class ManualMemoryPressure: Sendable {
    private struct State: Sendable {
        var level = MemoryPressure.normal
        var observers: [Int: @Sendable (MemoryPressure) -> Void] = [:]
        var lastNumber = 0
        /// What has still to be told, in the order of the decisions.
        var reports: [(observer: Int, level: MemoryPressure)] = []
        /// Whether a thread is telling; it tells what others put in as well.
        var isTelling = false

        mutating func beginTelling() -> Bool {
            defer { isTelling = true }
            return !isTelling
        }

        /// The next report whose observer is still there; without one, nobody tells any more.
        mutating func nextReport() -> (observer: @Sendable (MemoryPressure) -> Void, level: MemoryPressure)? {
            while !reports.isEmpty {
                let report = reports.removeFirst()
                if let observer = observers[report.observer] { return (observer, report.level) }
            }
            isTelling = false
            return nil
        }
    }

    private let state = Mutex(State())

    /// Creates a source whose level is ``MemoryPressure/normal``.
    public init() {}

    /// What was reported last.
    public var level: MemoryPressure { state.withLock { $0.level } }

    /// Tells every downloader that uses this source how short memory is.
    ///
    /// A level stands until the next report, also for downloaders that begin to watch later. Reporting one again frees
    /// again. Returns when all have been told; only where another thread, or a caller further up, is telling them
    /// already does that one tell them this too, after what came before.
    public func report(_ level: MemoryPressure) {
        state.withLock { state in
            state.level = level
            for number in state.observers.keys.sorted() { state.reports.append((number, level)) }
        }
        emit()
    }

    private func emit() {
        guard state.withLock({ $0.beginTelling() }) else { return }
        while let report = state.withLock({ $0.nextReport() }) { report.observer(report.level) }
    }
}

extension ManualMemoryPressure: MemoryPressureMonitor {
    /// Tells a level other than normal before it returns.
    package func watch(_ observer: @escaping @Sendable (MemoryPressure) -> Void) -> any MemoryPressureWatch {
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
            // What the observer holds goes outside of the lock, since its end may run any code.
            _ = pressure.state.withLock { $0.observers.removeValue(forKey: number) }
        }
    }
}
