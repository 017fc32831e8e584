#if canImport(Darwin)
internal import Dispatch
internal import Network

/// The network path of the device, as the system's path monitor reports it.
final class SystemPathMonitor: PathMonitor {
    /// The monitor of this process, which runs from its first use on.
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

    /// The path; until the system has reported one, every download may use it.
    var path: NetworkPath { present.path }

    func refresh() {}

    func observe(_ body: @escaping @Sendable (NetworkPath) -> Void) -> any ScheduledAction { present.observe(body) }
}

extension NetworkPath {
    fileprivate init(_ path: NWPath) {
        // A path that requires a connection, such as a VPN on demand, is established by a request.
        isSatisfied = path.status != .unsatisfied
        usesCellular = path.usesInterfaceType(.cellular)
        isExpensive = path.isExpensive
        isConstrained = path.isConstrained
    }
}
#endif
