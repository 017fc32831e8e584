/// Where extra exchanges are requested.
///
/// They use the URL that has responded with the bytes. Such a URL may be the target of a redirect that is signed for
/// minutes: if it is refused, one request goes through the requested URL, and later ones go where that has led. The
/// exchanges that receive are not disturbed, and nobody is asked for a fresh URL.
struct ExtraAddress: Sendable {
    private enum State {
        /// Requests go where the transfer's go.
        case following
        /// One request goes through the requested URL.
        case renewing(RedirectChain)
        /// Requests go where the requested URL has led.
        case renewed(RedirectChain)
        /// The requested URL has led to one that was refused as well.
        case refused
    }

    private var state = State.following

    /// Whether one request goes through the requested URL, during which there are no others.
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
