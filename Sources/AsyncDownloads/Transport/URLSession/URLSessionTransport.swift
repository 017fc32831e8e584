internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The engine on Foundation's URLSession: data tasks of one session, one delegate, one serial queue.
///
/// Download tasks would write to a file of their own choice and cannot be continued by range; a data task gives the
/// bytes as they come. There is no cache, no cookie and no credential storage, and redirects are refused here, since
/// they are followed above by our own rules.
package final class URLSessionTransport: Transport {
    private let session: URLSession
    private let delegate = SessionDelegate()

    /// - Parameter maximumConnectionsPerHost: How many exchanges with one host there may be at once.
    package init(maximumConnectionsPerHost: Int = 256) {
        let configuration = URLSessionConfiguration.default
        // With a cache, cancelling a task early kills the process on Linux; elsewhere it would keep whole files.
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCredentialStorage = nil
        // The transfer's own timer counts silence; this one would also count the time in which nothing is read.
        configuration.timeoutIntervalForRequest = 86_400
        configuration.httpMaximumConnectionsPerHost = max(256, 2 * maximumConnectionsPerHost)
        let queue = OperationQueue()
        queue.name = "async-downloads.urlsession"
        queue.maxConcurrentOperationCount = 1
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
    }

    deinit {
        // Nothing runs any more, since every transfer holds its engine; but a session holds its delegate until it is told.
        session.finishTasksAndInvalidate()
    }

    package var windowLength: Int64? { Self.platformWindowLength }
    package var decodesContent: Bool { true }

    package func start(_ request: ExchangeRequest, handler: any ExchangeHandler) -> any Exchange {
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
