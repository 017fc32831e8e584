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

    /// Nothing can be held back here: the window bounds what is kept meanwhile.
    func holdBack(_ task: URLSessionTask, _ isHeld: Bool) {}
}
#endif
