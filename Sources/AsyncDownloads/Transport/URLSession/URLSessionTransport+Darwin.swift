#if canImport(Darwin)
internal import Foundation

extension URLSessionTransport {
    /// The window length on Apple's platforms: `nil`, because a suspended task stops reading.
    static var platformWindowLength: Int64? { nil }
}

extension SessionDelegate {
    /// Whether the completion handler for a redirect of a canceled task is called.
    ///
    /// Apple's platforms require that every completion handler is called.
    static var answersCancelledRedirects: Bool { true }

    /// Suspends or resumes a task, so that the connection's buffers fill up while its handler isn't ready.
    func holdBack(_ task: URLSessionTask, _ isHeld: Bool) {
        if isHeld { task.suspend() } else { task.resume() }
    }
}
#endif
