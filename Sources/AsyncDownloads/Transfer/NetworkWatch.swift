/// Notifies the transfers of one downloader of changes of the network path.
final class NetworkWatch: Sendable {
    private struct State {
        var isStarted = false
        var observation: (any ScheduledAction)?
    }

    private let monitor: any PathMonitor
    /// Whether servers can be reached without a network.
    private let usesLocalProxy: Bool
    private let registry: TransferRegistry
    private let state = Mutex(State())

    init(_ monitor: any PathMonitor, usesLocalProxy: Bool, registry: TransferRegistry) {
        self.monitor = monitor
        self.usesLocalProxy = usesLocalProxy
        self.registry = registry
    }

    deinit { state.withLock(\.observation)?.cancel() }

    /// The present path.
    var path: NetworkPath {
        var path = monitor.path
        if usesLocalProxy { path.isSatisfied = true }
        return path
    }

    /// Determines the path again, in case a change has not been reported yet.
    func refresh() { monitor.refresh() }

    /// Starts notifying the transfers of changes; later calls have no effect.
    func start() {
        let isFirst = state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted
        }
        guard isFirst else { return }
        let observation = monitor.observe { [weak registry] _ in
            // A queued transfer reads the path when it gets its permit.
            for transfer in registry?.transfers ?? [] { transfer.activeTransfer?.networkChanged() }
        }
        state.withLock { $0.observation = observation }
    }
}
