/// The URLs of extra exchanges.
///
/// Extra exchanges use the URL that responded with the bytes. That URL may be the target of a redirect whose signature
/// expires after some minutes. If the server refuses it, one exchange requests the original URL again, and later
/// exchanges use the URL to which it redirects. The exchanges that receive continue, and no fresh URL is requested.
struct ExtraAddress: Sendable {
    private enum State {
        /// Requests use the URL of the transfer.
        case following
        /// One exchange requests the original URL again.
        case renewing(RedirectChain)
        /// Requests use the URL to which the original URL has redirected.
        case renewed(RedirectChain)
        /// The URL to which the original URL has redirected was refused as well.
        case refused
    }

    private var state = State.following

    /// Whether an exchange requests the original URL again, during which there is no other request.
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

    /// Handles that the URL was refused, and returns whether the next request goes through the requested one.
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

    /// Follows a redirect of the requested URL, and returns whether the next request goes to its target.
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
