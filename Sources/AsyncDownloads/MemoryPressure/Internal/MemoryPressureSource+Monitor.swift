extension MemoryPressureSource {
    /// Creates the monitor for the source; the adapters are named only here.
    func makeMonitor(time: any TimeSource) -> any MemoryPressureMonitor {
        switch kind {
        case .automatic: SystemMemoryPressure(time: time)
        case .none: NoMemoryPressure()
        case .manual(let pressure): pressure
        }
    }
}

/// A monitor of memory that is never short.
private struct NoMemoryPressure: MemoryPressureMonitor {
    private struct Watch: MemoryPressureWatch {
        func stop() {}
    }

    func watch(_ observer: @escaping @Sendable (MemoryPressure) -> Void) -> any MemoryPressureWatch { Watch() }
}
