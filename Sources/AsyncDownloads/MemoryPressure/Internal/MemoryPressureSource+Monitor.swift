extension MemoryPressureSource {
    /// What tells the levels: the one place where adapters are named.
    func makeMonitor(time: any TimeSource) -> any MemoryPressureMonitor {
        switch kind {
        case .automatic: SystemMemoryPressure(time: time)
        case .none: NoMemoryPressure()
        case .manual(let pressure): pressure
        }
    }
}

/// Memory that is never short.
private struct NoMemoryPressure: MemoryPressureMonitor {
    private struct Watch: MemoryPressureWatch {
        func stop() {}
    }

    func watch(_ observer: @escaping @Sendable (MemoryPressure) -> Void) -> any MemoryPressureWatch { Watch() }
}
