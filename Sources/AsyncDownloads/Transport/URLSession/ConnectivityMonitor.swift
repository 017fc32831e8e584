/// The port to the network connection of the device.
protocol ConnectivityMonitor: Sendable {
    /// Calls `body` when the device has a network connection, at once if it has one, until the result is canceled.
    ///
    /// The closure is called on any thread, and again with each change of the network.
    func whenConnected(_ body: @escaping @Sendable () -> Void) -> any ScheduledAction
}
