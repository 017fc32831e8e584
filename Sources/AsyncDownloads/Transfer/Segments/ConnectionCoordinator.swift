/// Divides the connections of a downloader among its transfers of large files.
///
/// A transfer requests its ``ConnectionBudget`` at each sample. Its permit covers one connection; the budget limits the
/// additional ones, and the transfer closes some of them when the limit decreases. The additional connections of one
/// file are therefore released for another file within one sample interval.
///
/// Two transfers that tried more connections at the same time would distort each other's measurements. Therefore, the
/// transfers take turns: one tries more connections while the others wait for the result.
final class ConnectionCoordinator: Sendable {
    /// A transfer that measures its rate.
    fileprivate struct Member {
        var report: ConnectionReport
        var lastSample: Duration
        /// The change counts at the last sample.
        var changes: Changes
        /// Whether another file from the same origin has ended since the last sample.
        var hasDeparture = false
        /// The maximum number of connections while memory is short; nil if the transfer has started since.
        var pressureBound: Int?

        /// Whether the transfer still takes samples; otherwise, it may be paused, wait for a retry, or have all bytes.
        func isPresent(at now: Duration) -> Bool { now - lastSample <= ConnectionCoordinator.membershipTime }
    }

    /// Counts of the events that change the rates of all members.
    fileprivate struct Changes: Sendable {
        /// The scheduler's count of permits that were granted, yielded, or released.
        var permits = 0
        /// The number of times that a member has changed its number of connections, or has begun or stopped measuring
        /// its rate.
        var numbers = 0
    }

    /// The turn of a transfer to try more connections.
    fileprivate struct Turn {
        /// The number that identifies the transfer.
        let member: Int
        let start: Duration
        /// Whether a budget has already granted the turn to the transfer.
        var isGranted = false
    }

    fileprivate struct State {
        /// The members, by the numbers of their transfers.
        var members: [Int: Member] = [:]
        /// The origins of running transfers that have taken no sample for some time, by the numbers of the transfers.
        var silent: [Int: Origin] = [:]
        var changes = Changes()
        var turn: Turn?
        var pressure = MemoryPressure.normal
        var pressureEnd = Duration.zero
    }

    /// The time without a sample after which a transfer is no longer a member.
    fileprivate static let membershipTime = Duration.seconds(1)
    /// The time after which a turn ends if others are waiting; a server may delay a step for minutes.
    fileprivate static let turnTime = Duration.seconds(15)
    /// The time for which a sign of memory pressure reduces the number of connections.
    private static let pressureTime = Duration.seconds(60)

    private let scheduler: TransferScheduler
    private let state = Mutex(State())

    init(scheduler: TransferScheduler) {
        self.scheduler = scheduler
    }

    /// Returns the budget of a transfer, without the values that only the transfer's environment provides.
    ///
    /// - Parameters:
    ///   - number: The number of the transfer.
    ///   - host: The host for which the transfer has its permit.
    func budget(
        of number: Int, _ report: ConnectionReport, permitHost host: String, at now: Duration
    ) -> ConnectionBudget {
        let load = scheduler.load(of: host, report.origin)
        return state.withLock { state in
            var budget = ConnectionBudget()
            budget.disturbance = state.update(number, report, load, at: now)
            budget.mayTry = state.takesTurn(number, at: now)
            budget.isShared = state.others(than: number, from: report.origin).contains { $0.report.number > 1 }
            budget.effectiveCount = load.connections.effectiveCount
            let bound = state.bound(of: number, report, load, at: now)
            budget.bound = max(1, min(bound, state.pressureBound(of: number, at: now)))
            return budget
        }
    }

    /// Records what a transfer has learned about its host.
    func record(_ observation: HostObservation, of number: Int, about origin: Origin, at now: Duration) {
        let others = presentOthers(than: number, from: origin, at: now)
        scheduler.updateConnections(of: origin) { connections in
            var observation = observation
            // The limit of one connection was inferred while other files had connections, and those files have ended.
            if others.isEmpty, observation.ceiling == 1 { observation.ceiling = nil }
            if !others.isEmpty {
                // The host counts the connections of all files.
                observation.ceiling = observation.ceiling.map { $0 + others.connectionCount }
                // Several files can each use fewer connections than one file alone, so the recorded number decreases
                // only after a collapse.
                let least = observation.hasCollapsed ? 1 : connections.effectiveCount
                observation.effectiveCount = observation.effectiveCount.map { max($0, least) }
            }
            connections.record(observation, at: now)
        }
    }

    /// Handles that a host has refused the only connection of a transfer.
    ///
    /// If other files have additional connections, they may be the reason. The host's current number of connections
    /// then becomes its limit for some time, and one of them is reserved for new transfers.
    ///
    /// - Parameter isResponse: Whether the host has sent a response. A refused or lost connection counts only if other
    ///   transfers are receiving from the host.
    /// - Returns: Whether other files have additional connections, which they release within one sample interval.
    func releaseExtras(for number: Int, at origin: Origin, isResponse: Bool, at now: Duration) -> Bool {
        let others = presentOthers(than: number, from: origin, at: now)
        let extraCount = others.reduce(0) { $0 + ($1.report.isFixed ? 0 : $1.report.number - 1) }
        guard extraCount > 0, isResponse || others.contains(where: \.report.isFlowing) else { return false }
        scheduler.updateConnections(of: origin) { $0.reserve(others.connectionCount, at: now) }
        return true
    }

    /// Returns the other members that fetch files from `origin` and still take samples.
    private func presentOthers(than number: Int, from origin: Origin, at now: Duration) -> [Member] {
        state.withLock { $0.others(than: number, from: origin).filter { $0.isPresent(at: now) } }
    }

    /// Removes a transfer that has ended.
    func remove(_ number: Int) {
        state.withLock { state in
            let silent = state.silent.removeValue(forKey: number)
            guard let origin = state.members.removeValue(forKey: number)?.report.origin ?? silent else { return }
            state.noteDeparture(from: origin)
        }
    }

    /// Reduces the number of connections for some time because memory is short.
    ///
    /// Repeated notifications of the same pressure extend the time without halving the number again.
    func pressureChanged(to level: MemoryPressure, at now: Duration) {
        state.withLock { state in
            let isSame = level == state.pressure && now < state.pressureEnd
            (state.pressure, state.pressureEnd) = (level, now + Self.pressureTime)
            guard !isSame else { return }
            for (number, member) in state.members { state.members[number]?.pressureBound = member.report.number / 2 }
        }
    }
}

extension ConnectionCoordinator.State {
    /// Records a sample of a transfer, and returns what has changed among the other transfers since the last one.
    fileprivate mutating func update(
        _ number: Int, _ report: ConnectionReport, _ load: TransferScheduler.Load, at now: Duration
    ) -> Disturbance? {
        let silent = members.filter { !$0.value.isPresent(at: now) }.map(\.key)
        for member in silent where member != number {
            self.silent[member] = members.removeValue(forKey: member)?.report.origin
            changes.numbers += 1
        }
        self.silent[number] = nil
        let before = members[number]
        changes.permits = load.changeCount
        let seen = before?.changes ?? changes
        let isOwnChange = before?.report.number != report.number
        let hasOtherNumber = seen.numbers != changes.numbers
        if isOwnChange { changes.numbers += 1 }
        members[number] = .init(
            report: report, lastSample: now, changes: changes, pressureBound: before?.pressureBound)
        if before?.hasDeparture ?? false { return .departure }
        // The transfer may have tried a step while it was not a member, at the same time as another transfer.
        if seen.permits != changes.permits || before == nil && report.isTrying { return .otherTransfer }
        return hasOtherNumber ? .otherNumber : nil
    }

    /// Records for each member from `origin` that another file from the same origin has ended.
    fileprivate mutating func noteDeparture(from origin: Origin) {
        for (number, member) in members where member.report.origin == origin { members[number]?.hasDeparture = true }
    }

    /// Returns the other members that fetch files from `origin`.
    fileprivate func others(than number: Int, from origin: Origin) -> [ConnectionCoordinator.Member] {
        members.filter { $0.key != number && $0.value.report.origin == origin }.map(\.value)
    }

    /// Returns whether a transfer may try more connections now.
    ///
    /// A turn lasts for one sample, or until the transfer stops trying more connections.
    fileprivate mutating func takesTurn(_ number: Int, at now: Duration) -> Bool {
        if let turn, hasEnded(turn, number, at: now) {
            self.turn = next(after: turn.member).map { .init(member: $0, start: now) }
        }
        var current = turn ?? .init(member: number, start: now)
        guard current.member == number else { return false }
        current.isGranted = true
        turn = current
        return true
    }

    /// Returns whether a turn has ended when the transfer `number` takes a sample.
    private func hasEnded(_ turn: ConnectionCoordinator.Turn, _ number: Int, at now: Duration) -> Bool {
        guard let member = members[turn.member] else { return true }
        let isWaiting = members.contains { $0.key != turn.member && !$0.value.report.isFixed }
        if isWaiting, now - turn.start > ConnectionCoordinator.turnTime { return true }
        return turn.member == number && turn.isGranted && !member.report.isTrying
    }

    /// Returns the transfer whose turn is after the turn of `number`.
    private func next(after number: Int) -> Int? {
        members.keys.filter { $0 > number }.min() ?? members.keys.min()
    }

    /// Returns the maximum number of connections of a transfer.
    ///
    /// The files of a host share its connections equally, except files for which the caller has chosen the number; that
    /// number isn't limited. No connection is added while a transfer waits for a permit, or after the host has refused
    /// a connection or ignored a range. Connections that the host has accepted continue, and are replaced when they
    /// end.
    fileprivate func bound(
        of number: Int, _ report: ConnectionReport, _ load: TransferScheduler.Load, at now: Duration
    ) -> Int {
        if report.isFixed { return HostPool.maximumExchangeCount }
        let others = others(than: number, from: report.origin)
        let fixed = others.filter(\.report.isFixed)
        // A transfer that isn't a member already has its connection, or currently has none.
        let isReserved = load.connections.isReserved(at: now) && load.runningCount <= others.count + 1
        let available = load.connections.limit(at: now) - fixed.connectionCount - (isReserved ? 1 : 0)
        let limit = available / max(1, load.runningCount - fixed.count)
        let isGrowing = !load.isTransferWaiting && load.connections.mayGrow(at: now)
        return isGrowing ? limit : min(limit, report.number, report.acceptedCount)
    }

    /// Returns the maximum number of connections of a transfer while memory is short: half of its connections, or one.
    fileprivate func pressureBound(of number: Int, at now: Duration) -> Int {
        guard now < pressureEnd else { return .max }
        switch pressure {
        case .normal: return .max
        case .warning:
            return members[number]?.pressureBound ?? HostPool.maximumExchangeCount / 2 / max(1, members.count)
        case .critical: return 1
        }
    }
}

extension [ConnectionCoordinator.Member] {
    /// The total number of the members' connections.
    fileprivate var connectionCount: Int { reduce(0) { $0 + $1.report.number } }
}
