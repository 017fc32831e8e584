#if canImport(Darwin)
internal import Foundation

extension URLSessionTransport {
    /// The window length on Apple platforms: `nil`, on the assumption that a suspended task stops reading.
    ///
    /// The assumption has not been measured on a device. If it is wrong, memory grows with the bytes that a fast server
    /// sends while the disk or a bandwidth limit holds a transfer back.
    static var platformWindowLength: Int64? { nil }

    /// Sets the networks that a request may use.
    static func set(_ access: NetworkAccess, of request: inout URLRequest) {
        request.allowsCellularAccess = access.allowsCellular
        request.allowsExpensiveNetworkAccess = access.allowsExpensive
        request.allowsConstrainedNetworkAccess = access.allowsConstrained
    }

    /// Lets tasks wait for a network connection instead of failing at once.
    static func waitForConnectivity(_ configuration: URLSessionConfiguration) {
        configuration.waitsForConnectivity = true
    }
}

extension SessionDelegate {
    /// Whether the completion handler for a redirect of a canceled task is called.
    ///
    /// Apple's platforms require that every completion handler is called.
    static var answersCancelledRedirects: Bool { true }

    static var platformNetwork: (any PathMonitor)? { SystemPathMonitor.shared }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        taskWaits(task, in: session)
    }

    /// Suspends or resumes a task; see ``URLSessionTransport/platformWindowLength`` for what this relies on.
    func holdBack(_ task: URLSessionTask, _ isHeld: Bool) {
        if isHeld { task.suspend() } else { task.resume() }
    }
}
#endif
