/// The URLs of extra exchanges.
///
/// Extra exchanges use the final URL of the response that delivers the bytes. That URL may be the target of a redirect
/// whose signature expires after some minutes. If the server refuses it, one exchange requests the original URL again,
/// and later exchanges use the new redirect target. Exchanges in progress continue, and the caller isn't asked for a
/// fresh URL.
struct ExtraAddress: Sendable {
    private enum State {
        /// Requests use the URL of the transfer.
        case following
        /// One exchange requests the original URL again.
        case renewing(RedirectChain)
        /// Requests use the URL to which the original URL has redirected.
        case renewed(RedirectChain)
        /// The original URL, or the URL to which it has redirected, was refused as well.
        case refused
    }

    private var state = State.following

    /// Whether an exchange is requesting the original URL again; no other request is sent meanwhile.
    var isRenewing: Bool { if case .renewing = state { true } else { false } }

    /// Returns the redirects of the next request.
    ///
    /// - Parameter own: The redirects of the transfer.
    func redirects(_ own: RedirectChain) -> RedirectChain {
        switch state {
        case .following, .refused: own
        case .renewing(let redirects), .renewed(let redirects): redirects
        }
    }

    /// Handles a refusal of the URL, and returns whether the next request uses the original URL.
    ///
    /// - Parameter own: The redirects of the transfer.
    mutating func denied(_ own: RedirectChain) -> Bool {
        var redirects = redirects(own)
        switch state {
        case .following, .renewed:
            guard redirects.current != redirects.origin else { return false }
            redirects.reset()
            state = .renewing(redirects)
            return true
        case .renewing:
            state = .refused
            return false
        case .refused:
            return false
        }
    }

    /// Follows a redirect from the original URL, and returns whether the next request uses its target.
    mutating func follow(_ location: String?) -> Bool {
        guard case .renewing(var redirects) = state, redirects.follow(location) == nil else { return false }
        state = .renewing(redirects)
        return true
    }

    /// Records that a response was accepted.
    mutating func accepted() {
        if case .renewing(let redirects) = state { state = .renewed(redirects) }
    }
}
