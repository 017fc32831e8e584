/// Whether a transfer may send extra requests now, and under which condition, according to what the server has shown.
struct ExtraPermission: Sendable {
    /// The time until further requests are sent after the host permitted none.
    private static let heldTime = Duration.seconds(1)
    /// How often the target of a redirect is asked again for what the target before has refused.
    ///
    /// A redirect costs a server nothing. A fresh URL comes from the caller.
    private static let maximumTargetChangeCount = 3

    private let isAlwaysOff: Bool
    /// Whether no further extra exchange is started in this transfer.
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

    /// Forgets what a server has shown, because another one is asked from now on.
    mutating func hostChanged() {
        forgetRestrictions()
        origin = nil
    }

    /// Records the origin of a body, and returns whether it differs from that of an earlier body.
    ///
    /// A redirect may lead to another origin, of which nothing is known.
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

    // MARK: Ends of the division

    /// Starts no further extra exchange in this transfer.
    mutating func turnOff() {
        isOff = true
    }

    /// Sends no condition with extra requests from now on.
    ///
    /// Several requests may have been sent with the condition.
    mutating func dropCondition() {
        dropsCondition = true
    }

    /// Records that an extra exchange has shown another object, and returns whether it was not the first one.
    ///
    /// The nodes of a server may differ for a moment, so that one difference is asked about once more.
    mutating func sawDifference() -> Bool {
        defer { hasSeenDifference = true }
        return hasSeenDifference
    }

    // MARK: Refusals

    /// Handles that an extra exchange was accepted, with which `segmentCount` exchanges have a segment.
    mutating func accepted(segmentCount: Int) {
        refusals.accepted(segmentCount: segmentCount)
    }

    /// Handles that an extra exchange was refused while `segmentCount` exchanges had a segment.
    ///
    /// No further request is sent before ``takeRefusals()``.
    mutating func refused(segmentCount: Int, retryAfter: Duration?, at now: Duration) {
        refusals.refused(segmentCount: segmentCount, retryAfter: retryAfter)
        if let retryAfter { pausedUntil = max(pausedUntil, now + retryAfter) }
    }

    /// Returns the refusals since the last call, to be judged when every request was answered.
    mutating func takeRefusals() -> RefusalGroup {
        defer { refusals = RefusalGroup() }
        return refusals
    }

    /// Handles that the host permits no further request now.
    mutating func held(at now: Duration) {
        pausedUntil = max(pausedUntil, now + Self.heldTime)
    }
}
