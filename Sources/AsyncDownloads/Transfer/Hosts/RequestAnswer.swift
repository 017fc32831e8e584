internal import Foundation

/// The meaning of a response head, or of an end without a head, for the origin of the request.
enum RequestAnswer: Sendable {
    /// The origin has accepted the request.
    ///
    /// - Parameter quota: The number of additional requests that the origin announces to accept, if it announces any.
    case accepted(RateLimit.Quota? = nil)
    /// The origin redirects to another URL of its own, whose response shows whether requests are accepted.
    case redirected
    /// The origin asks for fewer requests (429 or 503), and possibly for a time without requests.
    ///
    /// - Parameter resource: The resource, if the refusal may apply to this resource only: a 503, or one without a time.
    case refused(retryAfter: Duration?, of: ResourceID? = nil)
    /// The origin has sent a response that may be different later, such as 502, to the request for a resource.
    case failed(of: ResourceID)
    /// A connection was established, and the request has failed before a response, for example in the TLS handshake.
    case lost
    /// An established connection was closed before a response to the request for a resource. The associated policy
    /// belongs to the transfer.
    case reset(RetryPolicy, of: ResourceID)
    /// No connection could be established. The associated policy belongs to the transfer.
    case unreachable(DownloadError, RetryPolicy)
    /// Nothing has arrived within the idle timeout after the request for a resource, perhaps because no connection could
    /// be established. The associated policy belongs to the transfer.
    case unanswered(RetryPolicy, of: ResourceID)
    /// The end says nothing about the origin, for example because the request was canceled.
    case nothing
}

extension RequestAnswer {
    /// Whether the origin has accepted the request.
    var isAccepted: Bool { if case .accepted = self { true } else { false } }

    /// Whether the origin has sent a response.
    var isResponse: Bool {
        switch self {
        case .accepted, .redirected, .refused, .failed: true
        case .lost, .reset, .unreachable, .unanswered, .nothing: false
        }
    }

    /// Returns the error of the transfers that have waited too long for an origin with such answers.
    ///
    /// - Parameter status: The status of the response, if the answer is one.
    func errorOfWaiting(status: StatusCode?) -> DownloadError {
        switch self {
        case .unreachable(let error, _): error
        case .refused:
            DownloadError(
                .httpStatus, "the server refuses every request", statusCode: status?.code, isRetryable: true)
        case .failed:
            DownloadError(
                .httpStatus, "the server can handle no request", statusCode: status?.code, isRetryable: true)
        case .reset: DownloadError(.connectionLost, "the server closes connections without a response")
        case .unanswered: DownloadError(.timedOut, "the server responds to no request")
        case .accepted, .redirected, .lost, .nothing:
            DownloadError(.cannotConnect, "nothing was received from the server")
        }
    }

    /// - Parameters:
    ///   - url: The URL of the request.
    ///   - policy: The policy of the transfer, which limits the stated times (rule 37).
    init(_ head: ResponseHead, of url: URL, policy: RetryPolicy, date: @autoclosure () -> HTTPDate) {
        if head.status.asksForFewerRequests {
            let retryAfter = policy.respected(RetryAfter.delay(head, now: date()))
            self = .refused(
                retryAfter: retryAfter, of: retryAfter == nil || head.status.code == 503 ? ResourceID(url) : nil)
        } else if head.status.isRetryable {
            self = .failed(of: ResourceID(url))
        } else if Self.redirectsWithinOrigin(head, from: url) {
            self = .redirected
        } else {
            var quota = RateLimit.quota(head.headers)
            if case .exhausted(let time) = quota { quota = .exhausted(min(time, policy.maximumRetryAfter)) }
            self = .accepted(quota)
        }
    }

    private static func redirectsWithinOrigin(_ head: ResponseHead, from url: URL) -> Bool {
        guard head.status.isRedirect,
            case .success(let target) = Redirect.target(
                location: head.headers.singleton("Location").value, relativeTo: url)
        else { return false }
        return Origin(target) == Origin(url)
    }

    /// The shortest time after which a connection that isn't established counts as a failure of its origin, because the
    /// requests of others may have more patience.
    private static let leastConnectTime = Duration.seconds(5)

    /// Creates the answer of an exchange that was canceled because nothing has arrived within the idle timeout.
    init(
        timedOut end: ExchangeEnd, of resource: @autoclosure () -> ResourceID, after time: Duration?,
        policy: RetryPolicy
    ) {
        if case .cancelledWhileConnecting = end, let time, time >= Self.leastConnectTime {
            self = .unreachable(
                DownloadError(.cannotConnect, "no connection was established within the idle timeout"), policy)
        } else {
            self = .unanswered(policy, of: resource())
        }
    }

    /// - Parameter end: The end of an exchange that has received no head.
    init(_ end: ExchangeEnd, of resource: @autoclosure () -> ResourceID, policy: RetryPolicy) {
        switch end {
        case .failed(let error):
            switch error.code {
            case .cannotConnect, .hostNotFound: self = error.isRetryable ? .unreachable(error, policy) : .nothing
            case .timedOut: self = .unanswered(policy, of: resource())
            case .connectionLost: self = .reset(policy, of: resource())
            case .tooManyOpenFiles, .notConnected, .networkNotPermitted, .cancelled: self = .nothing
            default: self = .lost
            }
        case .complete: self = .lost
        case .cancelled, .cancelledWhileConnecting: self = .nothing
        }
    }
}
