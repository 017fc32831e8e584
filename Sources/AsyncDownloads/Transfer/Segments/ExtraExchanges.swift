/// A transfer's decisions about extra exchanges: whether to use them, and how many.
///
/// The first exchange is sent while no other exchange is in progress, and is handled as in a transfer over one
/// connection. An *extra* exchange is sent while another one receives. A failed extra exchange never fails the
/// transfer, uses up a retry, or requests a fresh URL: another exchange receives its bytes, or they are requested
/// again.
struct ExtraExchanges: Sendable {
    /// The minimum time to wait for the head of an extra exchange; see ``patience(_:)``.
    private static let headTime = Duration.seconds(5)
    /// The maximum time to wait for the head of an extra exchange.
    private static let longestPatience = Duration.seconds(300)
    /// The time for which an exchange may receive nothing while others receive.
    static let stallTime = Duration.seconds(10)
    /// The time after a request in which samples check whether a body has begun that is long enough to be measured.
    private static let firstTime = Duration.seconds(1)
    /// The minimum number of missing bytes for an automatic number of exchanges.
    private static let leastLength: Int64 = 8 << 20
    static let shortResponse = RequestPacing.shortResponse
    /// The length below which a bounded request costs too many round trips.
    private static let shortestWindow: Int64 = 1 << 20
    /// The time without bytes after which a body counts as part of another attempt.
    private static let attemptPause = Duration.seconds(1)
    /// The maximum number of unanswered automatic requests, which limits the consequences of a refusal.
    private static let groupSize = 4

    /// The minimum sizes that justify an exchange.
    struct Limits: Sendable, Hashable {
        /// The minimum number of missing bytes that a division leaves to each exchange.
        var shortestSegment: Int64 = 1 << 20
        /// The maximum number of surplus bytes of a body that is received to its end, which keeps its connection open.
        var longestSurplus: Int64 = 64 << 10
    }

    private let mode: ConnectionController.Mode
    private let limits: Limits
    /// The controller; nil before the first body flows, and before the first sample of an automatic number.
    private var controller: ConnectionController?
    /// Whether the body that flows is long enough for an automatic number.
    private var isLong = false
    private var unreported = UnreportedObservations()
    private var permission: ExtraPermission
    /// Whether the downloader knows about the connections.
    private var isReported = false
    private var history = SampleHistory()
    /// The largest number of exchanges that have had a segment at the same time with the present origin.
    private var acceptedCount = 1
    /// When the first request of the attempt was sent.
    private var requestTime = Duration.zero
    /// The number of consecutive extra exchanges that have ended early after few bytes.
    private var brokenCount = 0
    private static let mostBroken = 8
    /// The times at which bytes of bodies arrive.
    private(set) var flow = ByteFlow()

    init(_ mode: ConnectionController.Mode, _ limits: Limits = Limits()) {
        (self.mode, self.limits) = (mode, limits)
        permission = ExtraPermission(mode)
    }

    /// Whether the transfer starts no more extra exchanges.
    var isOff: Bool { permission.isOff }

    /// Whether the server doesn't understand the condition of extra requests.
    var dropsCondition: Bool { permission.dropsCondition }

    /// Forgets what a server has shown, because another server is used from now on.
    mutating func hostChanged() {
        permission.hostChanged()
        targetChanged()
    }

    /// Forgets what the target of a redirect has shown, because another target responds.
    private mutating func targetChanged() {
        unreported = UnreportedObservations()
        (controller, acceptedCount) = (nil, 1)
        history.hostChanged()
        flow.hostChanged()
    }

    /// Stops starting extra exchanges in this transfer.
    mutating func turnOff() {
        permission.turnOff()
    }

    /// Stops starting extra exchanges, because the server sends the whole body in response to a range.
    mutating func foundNoRanges() {
        unreported.foundNoRanges()
        turnOff()
    }

    /// Records the end of an extra exchange that has delivered less than was requested.
    ///
    /// Otherwise, requests would follow each other as fast as the server responds. A single request is delayed; see
    /// ``RequestPacing``.
    mutating func receivedShortResponse(of count: Int64) {
        if count < Self.shortResponse { turnOff() }
    }

    /// Records that an extra exchange has ended early, after it delivered this many bytes.
    ///
    /// Without a limit, a server that ends one connection after another would receive an endless series of requests.
    mutating func broke(after count: Int64) {
        brokenCount = count < Self.shortestWindow ? brokenCount + 1 : 0
        if brokenCount >= Self.mostBroken { turnOff() }
    }

    /// Omits the condition from extra requests from now on.
    mutating func dropCondition() {
        permission.dropCondition()
    }

    /// Records that an extra exchange has shown another object, and returns whether this was a repeated difference.
    mutating func sawDifference() -> Bool { permission.sawDifference() }
}

// MARK: - The number of exchanges

extension ExtraExchanges {
    /// Records that the first body of an attempt has started.
    ///
    /// - Parameters:
    ///   - missing: The number of bytes of the file that are missing; nil if the length is unknown.
    ///   - origin: The origin of the body.
    mutating func bodyStarted(missing: Int64?, from origin: Origin?, at now: Duration) {
        if permission.bodyStarted(from: origin) { targetChanged() }
        guard !isOff else { return }
        if case .fixed = mode, controller == nil { controller = ConnectionController(mode, at: now) }
        isLong = missing ?? 0 >= Self.leastLength
        // Measurements of an earlier attempt are not comparable. Bounded requests of one attempt follow each other
        // without a pause.
        if flow.lastArrival.map({ now - $0 >= Self.attemptPause }) ?? true {
            controller?.disturbed(by: .otherTransfer, at: now)
        }
    }

    /// Records that the first request of an attempt is sent.
    mutating func requestSent(at now: Duration) {
        requestTime = now
    }

    /// Returns the time until the next sample; nil if no sample will be needed soon.
    func tickInterval(_ exchanges: ExchangeTable, at now: Duration) -> Duration? {
        let elapsed = now - requestTime
        if isMeasuring(exchanges) {
            if isOff { return RateWindows.longestInterval }
            return controller?.sampleInterval(setup: exchanges.setup, at: now) ?? Self.firstInterval(elapsed)
        }
        // The first body may turn out to be long.
        let isFirst = !isOff && flow.lastArrival == nil && elapsed < Self.firstTime
        return isFirst ? Self.firstInterval(elapsed) : nil
    }

    /// Returns the time until the next check for a body that is long enough to be measured.
    private static func firstInterval(_ elapsed: Duration) -> Duration {
        min(max(.milliseconds(25), elapsed), .milliseconds(200))
    }

    /// Returns whether samples are taken.
    ///
    /// After extra exchanges were turned off, samples are taken while several exchanges receive, because the downloader
    /// divides the connections of a host among its transfers.
    func isMeasuring(_ exchanges: ExchangeTable) -> Bool {
        isOff ? exchanges.segments.count > 1 : controller != nil || isLong
    }

    /// Returns the report about the connections for the next sample; nil if no sample is taken.
    ///
    /// - Parameter isDivisible: Whether parts of the file may be fetched at the same time.
    mutating func report(_ exchanges: ExchangeTable, isDivisible: Bool, at now: Duration) -> ConnectionReport? {
        guard isMeasuring(exchanges), let origin = permission.origin else { return nil }
        let presentNumber = isOff ? exchanges.segments.count : isDivisible ? number : 1
        var report = ConnectionReport(
            origin: origin, number: presentNumber, acceptedCount: acceptedCount, isFixed: true)
        if case .automatic = mode {
            guard isDivisible || isOff else { return nil }
            (report.isFixed, report.isTrying) = (false, !isOff && controller?.isTrying ?? false)
        }
        report.isFlowing = flow.hasArrived(since: now - .seconds(1))
        isReported = true
        return report
    }

    /// Records that the downloader no longer tracks the connections, and returns whether it did.
    mutating func takeReport() -> Bool {
        defer { isReported = false }
        return isReported
    }

    /// Records that bytes of a body have arrived.
    ///
    /// - Parameters:
    ///   - count: The number of bytes.
    ///   - id: The exchange that has received them.
    ///   - isAlone: Whether no other exchange is in progress.
    ///   - pause: The time without bytes after which the flow counts as interrupted.
    mutating func bytesArrived(_ count: Int, of id: ExchangeID, isAlone: Bool, at now: Duration, pause: Duration) {
        flow.arrived(count, of: id, isAlone: isAlone, at: now, pause: pause)
    }

    /// Handles a sample.
    ///
    /// - Parameter mayRequest: Whether more requests can be sent to the present address.
    mutating func measure(
        _ exchanges: ExchangeTable, _ budget: ConnectionBudget, remaining: Int64, mayRequest: Bool, at now: Duration
    ) {
        flow.keep { exchanges.contains($0) }
        let sample = history.sample(exchanges, budget, flow, remaining: remaining, mayRequest: mayRequest, at: now)
        guard !isOff else { return }
        if controller == nil {
            controller = ConnectionController(
                mode, effectiveCount: min(budget.effectiveCount, budget.bound), at: now)
        }
        if let disturbance = budget.disturbance { controller?.disturbed(by: disturbance, at: now) }
        _ = controller?.measure(sample, at: now)
    }

    /// Returns what the transfer has learned about its host since the last call; nil for nothing new.
    mutating func takeObservation() -> (origin: Origin, observation: HostObservation)? {
        if case .automatic = mode, let controller, let effectiveCount = controller.effectiveCount {
            unreported.foundEffective(effectiveCount, hasCollapsed: controller.hasCollapsed)
        }
        return permission.origin.flatMap { unreported.takeObservation(of: $0) }
    }

    /// Handles that an extra exchange was accepted; `segmentCount` exchanges now have a segment.
    mutating func accepted(segmentCount: Int) {
        controller?.accepted(segmentCount: segmentCount)
        unreported.accepted()
        permission.accepted(segmentCount: segmentCount)
        acceptedCount = max(acceptedCount, segmentCount)
    }

    /// Handles that an extra exchange was refused while `segmentCount` exchanges had a segment.
    ///
    /// No more requests are sent before ``judgeRefusals(_:at:)``.
    mutating func refused(segmentCount: Int, retryAfter: Duration?, at now: Duration) {
        permission.refused(segmentCount: segmentCount, retryAfter: retryAfter, at: now)
    }

    /// Handles that the host currently permits no more requests.
    mutating func held(at now: Duration) {
        permission.held(at: now)
    }

    /// Judges the refusals since the last judgment if every request has been answered.
    mutating func judgeRefusals(_ exchanges: ExchangeTable, at now: Duration) {
        guard !exchanges.hasRequests else { return }
        let refusals = permission.takeRefusals()
        guard let count = refusals.segmentCount else { return }
        unreported.refused(retryAfter: refusals.retryAfter)
        guard let ceiling = controller?.refused(segmentCount: count, at: now) else { return }
        // The refusal of the first additional connection may be a coincidence, unless another file has several
        // connections.
        if ceiling > 1 || history.isShared { unreported.foundCeiling(ceiling) }
    }

    /// Returns the maximum length of one extra request, so that all windows together use as much memory as a single
    /// one.
    ///
    /// - Parameter window: The maximum length of a single request, if the engine needs bounded ones.
    func window(_ window: Int64?) -> Int64? {
        window.map { max(min($0, Self.shortestWindow), $0 / Int64(number)) }
    }

    /// The number of exchanges that may have a segment or a request.
    var number: Int { isOff ? 1 : controller?.number ?? 1 }

    /// The number of exchanges that may continue: all that were accepted, if extra exchanges are turned off.
    var permittedCount: Int { isOff ? max(1, history.bound) : number }

    /// Returns the terms of the next requests; nil if none can be sent now.
    ///
    /// - Parameter missing: The number of missing bytes of the file.
    func terms(_ exchanges: ExchangeTable, missing: Int64, at now: Duration) -> ExchangeTable.RequestTerms? {
        guard permission.mayRequest(at: now), let controller, controller.mayRequest(at: now) else { return nil }
        // A canceled exchange uses its connection until it ends.
        let count = number - exchanges.count
        guard count > 0 else { return nil }
        switch mode {
        case .fixed: return .init(count: count, minimumLength: limits.shortestSegment)
        case .automatic:
            let groupCount = min(count, Self.groupSize - exchanges.requestIDs.count)
            guard groupCount > 0, missing >= Self.leastLength || exchanges.segments.count > 1 else { return nil }
            return .init(
                count: groupCount, minimumLength: limits.shortestSegment,
                minimumTime: Self.minimumTime(setup: exchanges.setup))
        }
    }

    /// Returns the minimum remaining time of an exchange that is divided, if a connection takes `setup` to deliver its
    /// first byte.
    ///
    /// The end of a file takes up to this time over fewer and fewer connections.
    static func minimumTime(setup: Duration) -> Duration { max(.milliseconds(100), setup * 6) }

    /// Returns how long to wait for the head of an extra exchange.
    func patience(_ exchanges: ExchangeTable) -> Duration {
        min(max(Self.headTime, exchanges.setup * 20, exchanges.longestHeadTime * 2), Self.longestPatience)
    }
}
