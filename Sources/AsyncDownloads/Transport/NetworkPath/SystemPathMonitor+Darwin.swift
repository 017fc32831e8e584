#if canImport(Darwin)
internal import Dispatch
internal import Network

/// The network path of the device, as the system's path monitor reports it.
final class SystemPathMonitor: PathMonitor {
    /// The monitor of this process, which starts with its first use and is never stopped.
    static let shared = SystemPathMonitor()

    private struct Watch: @unchecked Sendable {  // The monitor may be used from any thread.
        let monitor = NWPathMonitor()
    }

    private let present = ManualPathMonitor()
    private let watch = Watch()

    private init() {
        watch.monitor.pathUpdateHandler = { [present] in present.path = NetworkPath($0) }
        watch.monitor.start(queue: DispatchQueue(label: "async-downloads.network-path", qos: .utility))
    }

    /// The present path; until the system has reported one, a path that every download may use.
    var path: NetworkPath { present.path }

    func refresh() {}

    func observe(_ body: @escaping @Sendable (NetworkPath) -> Void) -> any ScheduledAction { present.observe(body) }
}

extension NetworkPath {
    fileprivate init(_ path: NWPath) {
        // With `requiresConnection`, for example for an on-demand VPN, a request establishes the path.
        isSatisfied = path.status != .unsatisfied
        usesCellular = path.usesInterfaceType(.cellular)
        isExpensive = path.isExpensive
        isConstrained = path.isConstrained
    }
}
#endif
