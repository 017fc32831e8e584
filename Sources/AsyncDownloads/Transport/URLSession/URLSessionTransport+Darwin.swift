#if canImport(Darwin)
internal import Foundation

extension URLSessionTransport {
    /// A suspended task stops reading, so that bodies of any length can be held back.
    static var platformWindowLength: Int64? { nil }
}

extension SessionDelegate {
    /// Every completion handler is to be called.
    static var answersCancelledRedirects: Bool { true }

    /// Makes the connection's buffers fill up while nothing more can be taken.
    func holdBack(_ task: URLSessionTask, _ isHeld: Bool) {
        if isHeld { task.suspend() } else { task.resume() }
    }
}
#endif
