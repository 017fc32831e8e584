internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The transport that uses Foundation's URLSession: data tasks of one session, with one delegate and one serial queue.
///
/// Data tasks deliver the bytes as they arrive. Download tasks write to a file that the system chooses, and can't be
/// resumed by range. The session has no cache, cookie storage, or credential storage. It refuses all redirects, because
/// a higher layer follows them according to the package's rules.
package final class URLSessionTransport: Transport {
    private let session: URLSession
    private let delegate = SessionDelegate()

    /// Creates a transport with a new session.
    ///
    /// - Parameter maximumConnectionsPerHost: The number of transfers with one host that may run at the same time, each
    ///   with up to 16 exchanges.
    package init(maximumConnectionsPerHost: Int = 256) {
        let configuration = URLSessionConfiguration.default
        // With a cache, canceling a task early ends the process on Linux; on other platforms, it would store whole
        // files.
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCredentialStorage = nil
        // The transfer has its own idle timer. The session's would also count the time in which reading is suspended.
        configuration.timeoutIntervalForRequest = 86_400
        configuration.httpMaximumConnectionsPerHost = HostPool.size(forTransfers: maximumConnectionsPerHost)
        Self.waitForConnectivity(configuration)
        let queue = OperationQueue()
        queue.name = "async-downloads.urlsession"
        queue.maxConcurrentOperationCount = 1
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
    }

    deinit {
        // No exchange is running, because every transfer retains its transport. The session retains its delegate until
        // it is invalidated.
        session.finishTasksAndInvalidate()
    }

    package var windowLength: Int64? { Self.platformWindowLength }
    package var decodesContent: Bool { true }

    package func start(
        _ request: ExchangeRequest, beside neighbor: (any Exchange)?, handler: any ExchangeHandler
    ) -> any Exchange {
        var urlRequest = URLRequest(url: request.url)
        urlRequest.httpShouldHandleCookies = false
        for field in request.headers { urlRequest.addValue(field.value, forHTTPHeaderField: field.name) }
        let exchange = URLSessionExchange(delegate: delegate)
        delegate.commands.add { [session, delegate, urlRequest] in
            if let task = delegate.makeTask({ session.dataTask(with: urlRequest) }, handler: handler) {
                exchange.task.withLock { $0 = task }
                task.resume()
            } else {
                handler.exchangeEnded(.failed(DownloadError(.shutDown)))
            }
        }
        return exchange
    }

    package func shutdown() async {
        delegate.close(session)
    }
}

private final class URLSessionExchange: Exchange {
    let task = Mutex<URLSessionDataTask?>(nil)
    private let delegate: SessionDelegate

    init(delegate: SessionDelegate) {
        self.delegate = delegate
    }

    var callbackTime: Duration { delegate.clock.time }

    func cancel() {
        delegate.commands.add { [self] in
            if let task = task.withLock({ $0 }) { delegate.cancel(task) }
        }
    }
}
