#if canImport(Darwin) || LinuxURLSession || !ServerStack
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The transport that uses Foundation's URLSession: data tasks, with one delegate and one serial queue for each
/// session.
///
/// Data tasks deliver the bytes as they arrive. Download tasks aren't used, because they write to a file that the
/// system chooses, and can't be resumed by range. The sessions have no cache, cookie storage, or credential storage.
/// They refuse all redirects, because a higher layer follows them according to the package's rules.
package final class URLSessionTransport: Transport {
    typealias ChallengeHandler = @Sendable (ConnectionChallenge) async -> ConnectionChallenge.Answer

    private let sessions: SessionSet

    /// Creates a transport with one session; more sessions are created when they are needed.
    ///
    /// - Parameter maximumConnectionsPerHost: The number of transfers with one host that may run at the same time, each
    ///   with up to 16 exchanges.
    package convenience init(maximumConnectionsPerHost: Int = 256) {
        self.init(maximumConnectionsPerHost: maximumConnectionsPerHost, challenge: nil)
    }

    /// Creates a transport whose challenges are answered by a closure; nil leaves them to the system.
    init(maximumConnectionsPerHost: Int, challenge: ChallengeHandler?) {
        sessions = SessionSet(
            connectionCount: HostPool.size(forTransfers: maximumConnectionsPerHost), challenge: challenge)
    }

    package var windowLength: Int64? { Self.platformWindowLength }
    package var decodesContent: Bool { true }

    package func start(
        _ request: ExchangeRequest, beside neighbor: (any Exchange)?, handler: any ExchangeHandler
    ) -> any Exchange {
        var urlRequest = URLRequest(url: request.url)
        urlRequest.httpMethod = request.method.rawValue
        urlRequest.httpShouldHandleCookies = false
        Self.set(request.networkAccess, of: &urlRequest)
        for field in request.headers { urlRequest.addValue(field.value, forHTTPHeaderField: field.name) }
        let member = sessions.begin(isFurther: neighbor != nil)
        let exchange = URLSessionExchange(delegate: member.delegate)
        member.delegate.commands.async { [member, urlRequest] in
            if let task = member.delegate.makeTask(
                { member.session.dataTask(with: urlRequest) }, permitsIdentity: request.sendsCredentials,
                handler: handler)
            {
                exchange.task.withLock { $0 = task }
                task.resume()
            } else {
                handler.exchangeEnded(.failed(DownloadError(.shutDown)))
            }
        }
        return exchange
    }

    package func shutdown() async {
        sessions.close()
    }
}

/// A data task of one session.
final class URLSessionExchange: Exchange {
    fileprivate let task = Mutex<URLSessionDataTask?>(nil)
    let delegate: SessionDelegate

    init(delegate: SessionDelegate) {
        self.delegate = delegate
    }

    var callbackTime: Duration { delegate.clock.time }

    func cancel() {
        delegate.commands.async { [self] in
            if let task = task.withLock({ $0 }) { delegate.cancel(task) }
        }
    }
}
#endif
