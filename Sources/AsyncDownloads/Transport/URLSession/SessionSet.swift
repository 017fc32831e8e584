internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// The URL sessions of one transport, with their delegates.
///
/// Over HTTP/2 or HTTP/3, a session has one connection with a host, which all requests share. The first exchanges of all
/// files use the first session. Each further exchange of a file needs a connection, and therefore a session in which no
/// other exchange is running.
final class SessionSet: Sendable {
    /// A session and its delegate.
    struct Member {
        let session: URLSession
        let delegate: SessionDelegate
    }

    private struct State {
        var members: [Member]
        var isClosed = false
    }

    /// The maximum number of sessions.
    private let capacity: Int
    /// The maximum number of connections that each session has with one host.
    private let connectionCount: Int
    private let state: Mutex<State>

    /// - Parameters:
    ///   - capacity: The maximum number of sessions.
    ///   - connectionCount: The maximum number of connections that each session has with one host.
    init(capacity: Int = HostPool.maximumExchangeCount, connectionCount: Int) {
        self.capacity = capacity
        self.connectionCount = connectionCount
        state = Mutex(State(members: [Self.makeMember(connectionCount)]))
    }

    deinit {
        // No exchange is running, because every transfer retains its transport. A session retains its delegate until it
        // is invalidated.
        for member in state.withLock(\.members) { member.session.finishTasksAndInvalidate() }
    }

    /// Returns the session of an exchange that begins, and counts the exchange.
    ///
    /// - Parameter isFurther: Whether another exchange of the same file is running.
    func begin(isFurther: Bool) -> Member {
        state.withLock { state in
            let member = choose(isFurther, &state)
            member.delegate.exchangeBegins()
            return member
        }
    }

    private func choose(_ isFurther: Bool, _ state: inout State) -> Member {
        guard isFurther else { return state.members[0] }
        let counts = state.members.map(\.delegate.exchangeCount)
        if let free = counts.firstIndex(of: 0) { return state.members[free] }
        // Every task of a closed set fails.
        if counts.count == capacity || state.isClosed {
            let best = counts.indices.dropFirst().min { counts[$0] < counts[$1] }
            return state.members[best ?? 0]
        }
        let member = Self.makeMember(connectionCount)
        state.members.append(member)
        return member
    }

    /// Prevents new tasks, and cancels all tasks.
    func close() {
        let members = state.withLock { state in
            state.isClosed = true
            return state.members
        }
        for member in members { member.delegate.close(member.session) }
    }

    private static func makeMember(_ connectionCount: Int) -> Member {
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
        let queue = OperationQueue()
        queue.name = "async-downloads.urlsession"
        queue.maxConcurrentOperationCount = 1
        let delegate = SessionDelegate()
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
        return Member(session: session, delegate: delegate)
    }
}
