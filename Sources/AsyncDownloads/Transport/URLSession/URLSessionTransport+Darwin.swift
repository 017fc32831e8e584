#if canImport(Darwin)
internal import Foundation

extension URLSessionTransport {
    /// The window length on Apple's platforms: `nil`, because a suspended task stops reading.
    static var platformWindowLength: Int64? { nil }

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

    static var platformConnectivity: (any ConnectivityMonitor)? { SystemConnectivity() }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        taskWaits(task, in: session)
    }

    /// Suspends or resumes a task, so that the connection's buffers fill up while its handler isn't ready.
    func holdBack(_ task: URLSessionTask, _ isHeld: Bool) {
        if isHeld { task.suspend() } else { task.resume() }
    }
}
#endif
