#if canImport(Darwin) || LinuxURLSession || !ServerStack
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The URL sessions of one transport, with their delegates.
///
/// Over HTTP/2 or HTTP/3, a session has one connection with a host, which all requests share. The first exchanges of
/// all files use the first session. Each additional exchange of a file needs a separate connection, so it uses another
/// session: one without a running exchange, unless the maximum number of sessions is reached.
final class SessionSet: Sendable {
    /// A session and its delegate.
    struct Member {
        let session: URLSession
        let delegate: SessionDelegate

        fileprivate init(connectionCount: Int, _ challenge: URLSessionTransport.ChallengeHandler?) {
            let queue = OperationQueue()
            queue.name = "async-downloads.urlsession"
            queue.maxConcurrentOperationCount = 1
            delegate = SessionDelegate(challenge: challenge)
            session = URLSession(
                configuration: .forTransfers(connectionCount: connectionCount), delegate: delegate,
                delegateQueue: queue)
        }
    }

    private struct State {
        /// The sessions of additional exchanges.
        var further: [Member] = []
        var isClosed = false
    }

    private let first: Member
    /// The maximum number of sessions of additional exchanges.
    private let furtherCapacity: Int
    /// The maximum number of connections that each session has with one host.
    private let connectionCount: Int
    private let challenge: URLSessionTransport.ChallengeHandler?
    private let state = Mutex(State())

    /// Creates a set with the session for the first exchanges.
    ///
    /// - Parameters:
    ///   - furtherCapacity: The maximum number of sessions of additional exchanges, at least 1.
    ///   - connectionCount: The maximum number of connections that each session has with one host.
    ///   - challenge: Answers the challenges of connections; nil leaves them to the system.
    init(
        furtherCapacity: Int = HostPool.maximumExchangeCount - 1, connectionCount: Int,
        challenge: URLSessionTransport.ChallengeHandler? = nil
    ) {
        precondition(furtherCapacity > 0, "further exchanges need a session")
        self.furtherCapacity = furtherCapacity
        self.connectionCount = connectionCount
        self.challenge = challenge
        first = Member(connectionCount: connectionCount, challenge)
    }

    deinit {
        // No exchange is running, because every transfer retains its transport. A session retains its delegate until it
        // is invalidated.
        for member in [first] + state.withLock(\.further) { member.session.finishTasksAndInvalidate() }
    }

    /// Returns the session for a new exchange, and counts the exchange.
    ///
    /// - Parameter isFurther: Whether another exchange of the same file is running.
    func begin(isFurther: Bool) -> Member {
        let (member, idle) = state.withLock { state in
            let idle = isFurther ? [] : takeIdle(&state)
            let member = isFurther ? furtherMember(&state) : first
            member.delegate.exchangeBegins()
            return (member, idle)
        }
        for member in idle { member.session.finishTasksAndInvalidate() }
        return member
    }

    private func furtherMember(_ state: inout State) -> Member {
        // Every task of a closed set fails.
        if state.isClosed { return first }
        if let best = state.further.min(by: { $0.delegate.exchangeCount < $1.delegate.exchangeCount }),
            best.delegate.exchangeCount == 0 || state.further.count == furtherCapacity
        {
            return best
        }
        let member = Member(connectionCount: connectionCount, challenge)
        state.further.append(member)
        return member
    }

    /// Removes and returns the additional sessions without an exchange.
    ///
    /// These sessions keep connections open that the first exchange of another file cannot use, and the host may permit
    /// only a few connections.
    private func takeIdle(_ state: inout State) -> [Member] {
        guard !state.isClosed else { return [] }
        let idle = state.further.filter { $0.delegate.exchangeCount == 0 }
        state.further.removeAll { $0.delegate.exchangeCount == 0 }
        return idle
    }

    /// Prevents new tasks, and cancels all tasks.
    func close() {
        let further = state.withLock { state in
            state.isClosed = true
            return state.further
        }
        for member in [first] + further { member.delegate.close(member.session) }
    }
}

extension URLSessionConfiguration {
    /// Returns a configuration without a cache, cookie storage, or credential storage.
    fileprivate static func forTransfers(connectionCount: Int) -> URLSessionConfiguration {
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
        configuration.httpMaximumConnectionsPerHost = connectionCount
        URLSessionTransport.waitForConnectivity(configuration)
        return configuration
    }
}
#endif
