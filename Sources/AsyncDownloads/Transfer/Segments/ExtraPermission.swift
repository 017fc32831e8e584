/// Whether and with which condition a transfer may send extra requests, according to the server's behavior so far.
struct ExtraPermission: Sendable {
    /// The delay before the next extra request after the host has permitted none.
    private static let heldTime = Duration.seconds(1)
    /// The maximum number of redirect targets for which the restrictions of the previous target are lifted.
    ///
    /// Redirects are free for a server, so without a limit it could cause any number of attempts. A fresh URL, by
    /// contrast, comes from the caller.
    private static let maximumTargetChangeCount = 3

    private let isAlwaysOff: Bool
    /// Whether the transfer starts no more extra exchanges.
    private(set) var isOff: Bool
    /// Whether the server doesn't understand the condition of extra requests.
    private(set) var dropsCondition = false
    private var hasSeenDifference = false
    private var pausedUntil = Duration.zero
    private var refusals = RefusalGroup()
    private var targetChangeCount = 0
    /// The origin of the body that flows, or of the last one; nil before the first one.
    private(set) var origin: Origin?

    init(_ mode: ConnectionController.Mode) {
        switch mode {
        case .automatic(let maximum): isAlwaysOff = maximum <= 1
        case .fixed(let number): isAlwaysOff = number <= 1
        }
        isOff = isAlwaysOff
    }

    /// Returns whether a request may be sent.
    func mayRequest(at now: Duration) -> Bool { !isOff && now >= pausedUntil && refusals.isEmpty }

    // MARK: Other servers

    /// Forgets what a server has shown, because another server is used from now on.
    mutating func hostChanged() {
        forgetRestrictions()
        origin = nil
    }

    /// Records the origin of a body, and returns whether it differs from the previous origin.
    ///
    /// Nothing is known about the origin that a redirect leads to.
    mutating func bodyStarted(from origin: Origin?) -> Bool {
        let hasChanged = self.origin != nil && self.origin != origin
        self.origin = origin
        if hasChanged { targetChanged() }
        return hasChanged
    }

    /// Handles that a redirect has led to another server.
    private mutating func targetChanged() {
        let hasRestriction = isOff != isAlwaysOff || dropsCondition || hasSeenDifference
        guard hasRestriction, targetChangeCount < Self.maximumTargetChangeCount else { return forgetRefusals() }
        targetChangeCount += 1
        forgetRestrictions()
    }

    private mutating func forgetRestrictions() {
        isOff = isAlwaysOff
        (dropsCondition, hasSeenDifference) = (false, false)
        forgetRefusals()
    }

    private mutating func forgetRefusals() {
        (pausedUntil, refusals) = (.zero, RefusalGroup())
    }

    // MARK: Restrictions

    /// Stops starting extra exchanges in this transfer.
    mutating func turnOff() {
        isOff = true
    }

    /// Omits the condition from extra requests from now on.
    ///
    /// This method may be called more than once, because several requests may have been sent with the condition.
    mutating func dropCondition() {
        dropsCondition = true
    }

    /// Records that an extra exchange has shown another object, and returns whether this was a repeated difference.
    ///
    /// The nodes of a server may differ for a moment, so the first difference is retried once.
    mutating func sawDifference() -> Bool {
        defer { hasSeenDifference = true }
        return hasSeenDifference
    }

    // MARK: Refusals

    /// Handles that an extra exchange was accepted; `segmentCount` exchanges now have a segment.
    mutating func accepted(segmentCount: Int) {
        refusals.accepted(segmentCount: segmentCount)
    }

    /// Handles that an extra exchange was refused while `segmentCount` exchanges had a segment.
    ///
    /// No more requests are sent before ``takeRefusals()``.
    mutating func refused(segmentCount: Int, retryAfter: Duration?, at now: Duration) {
        refusals.refused(segmentCount: segmentCount, retryAfter: retryAfter)
        if let retryAfter { pausedUntil = max(pausedUntil, now + retryAfter) }
    }

    /// Returns the refusals since the last call, to be judged when every request has been answered.
    mutating func takeRefusals() -> RefusalGroup {
        defer { refusals = RefusalGroup() }
        return refusals
    }

    /// Handles that the host currently permits no more requests.
    mutating func held(at now: Duration) {
        pausedUntil = max(pausedUntil, now + Self.heldTime)
    }
}
