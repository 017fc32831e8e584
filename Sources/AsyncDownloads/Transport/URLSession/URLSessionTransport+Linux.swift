#if !canImport(Darwin) && (LinuxURLSession || !ServerStack)
internal import Foundation
internal import FoundationNetworking

extension URLSessionTransport {
    /// The window length on Linux, which limits the bytes that URLSession keeps in memory.
    ///
    /// URLSession on Linux reads everything that the server sends and keeps it in memory until the delegate has
    /// received it. A task can't be suspended, because that corrupts its body.
    static var platformWindowLength: Int64? { 8 << 20 }

    /// Whether challenges of connections can be answered.
    static var answersChallenges: Bool { false }

    /// Whether the environment names a proxy, which may be on this machine; libcurl uses it.
    package var usesLocalProxy: Bool {
        ProcessInfo.processInfo.environment.contains { name, value in
            ["http_proxy", "https_proxy", "all_proxy"].contains(name.lowercased()) && !value.isEmpty
        }
    }

    /// Does nothing, because Foundation on Linux doesn't distinguish kinds of networks.
    static func set(_ access: NetworkAccess, of request: inout URLRequest) {}

    /// Does nothing, because tasks can't wait for a network connection on Linux.
    static func waitForConnectivity(_ configuration: URLSessionConfiguration) {}
}

extension SessionDelegate {
    /// Whether the completion handler for a redirect of a canceled task is called.
    ///
    /// The completion handler must not be called on Linux: if the session processes the answer after the cancellation,
    /// the process ends with a fatal error (Swift 6.3).
    static var answersCancelledRedirects: Bool { false }

    /// The monitor for tasks that wait for a connection: none, because a task without a connection fails at once on
    /// Linux.
    static var platformNetwork: (any PathMonitor)? { nil }

    /// Cancels a task whose server requests authentication.
    ///
    /// Without a credential storage, the task of a 401 response that names an authentication scheme never completes
    /// (swift-corelibs-foundation 5457). The handler has received the head, and the rest of the response isn't needed.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        cancel(task)
    }

    /// Does nothing, because a task can't be suspended on Linux; the window limits the bytes that are kept in memory.
    func holdBack(_ task: URLSessionTask, _ isHeld: Bool) {}
}
#endif
