#if canImport(Darwin)
internal import Dispatch
internal import Network

/// The network connection of the device, as the system's path monitor reports it.
struct SystemConnectivity: ConnectivityMonitor {
    private final class Watch: ScheduledAction, @unchecked Sendable {  // The monitor may be used from any thread.
        let monitor = NWPathMonitor()

        func cancel() { monitor.cancel() }
    }

    func whenConnected(_ body: @escaping @Sendable () -> Void) -> any ScheduledAction {
        let watch = Watch()
        watch.monitor.pathUpdateHandler = { path in
            if path.status == .satisfied { body() }
        }
        watch.monitor.start(queue: DispatchQueue.global(qos: .utility))
        return watch
    }
}
#endif
