#if !canImport(Darwin)
internal import Foundation
internal import FoundationNetworking

extension URLSessionTransport {
    /// URLSession on Linux reads whatever the server sends and keeps it in memory until the delegate has taken it;
    /// suspending a task corrupts its body.
    ///
    /// So it is asked for no more than it may hold.
    static var platformWindowLength: Int64? { 8 << 20 }
}

extension SessionDelegate {
    /// An answer that the session takes up behind the cancellation is a fatal error (Swift 6.3).
    static var answersCancelledRedirects: Bool { false }

    /// A 401 that names a scheme never ends where no credentials are kept (swift-corelibs-foundation 5457).
    ///
    /// Its head has been told, and nothing else of it is of use.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        cancel(task)
    }

    /// Nothing can be held back here: the window bounds what is kept meanwhile.
    func holdBack(_ task: URLSessionTask, _ isHeld: Bool) {}
}
#endif
