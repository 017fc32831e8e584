#if canImport(Darwin)
internal import Foundation

extension URLSessionTransport {
    /// The window length on Apple platforms: `nil`, on the assumption that a suspended task stops reading.
    ///
    /// The assumption has not been measured on a device. If it is wrong, memory grows with the bytes that a fast server
    /// sends while the disk or a bandwidth limit holds a transfer back.
    static var platformWindowLength: Int64? { nil }

    /// Whether challenges of connections can be answered.
    static var answersChallenges: Bool { true }

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

    /// Answers a challenge of a task's connection.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard let handler = self.challenge, let question = ConnectionChallenge(challenge) else {
            return completionHandler(.performDefaultHandling, nil)
        }
        // Rule 11: the client identifies itself only to the origin of the request.
        if question.kind == .clientCertificate, !permitsIdentity(task) {
            return completionHandler(.performDefaultHandling, nil)
        }
        Task {
            let answer = await handler(question)
            switch answer.kind {
            case .performDefaultHandling: completionHandler(.performDefaultHandling, nil)
            case .cancel: completionHandler(.rejectProtectionSpace, nil)
            case .use: completionHandler(.useCredential, answer.credential)
            }
        }
    }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        taskWaits(task, in: session)
    }

    /// Reports the connection of a task; the system calls this before the task completes.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        guard let used = metrics.transactionMetrics.last else { return }
        handler(of: task)?.exchangeUses(
            ExchangeConnection(isReused: used.isReusedConnection, protocolName: used.networkProtocolName))
    }

    /// Suspends or resumes a task, on the assumption that ``URLSessionTransport/platformWindowLength`` describes.
    func holdBack(_ task: URLSessionTask, _ isHeld: Bool) {
        if isHeld { task.suspend() } else { task.resume() }
    }
}

extension ConnectionChallenge {
    /// Creates a challenge from a system challenge; nil if it isn't about the server's trust or the client's
    /// certificate, such as the challenge of a 401 response.
    fileprivate init?(_ challenge: URLAuthenticationChallenge) {
        switch challenge.protectionSpace.authenticationMethod {
        case NSURLAuthenticationMethodServerTrust: kind = .serverTrust
        case NSURLAuthenticationMethodClientCertificate: kind = .clientCertificate
        default: return nil
        }
        (host, port) = (challenge.protectionSpace.host, challenge.protectionSpace.port)
        systemChallenge = challenge
    }
}
#endif
