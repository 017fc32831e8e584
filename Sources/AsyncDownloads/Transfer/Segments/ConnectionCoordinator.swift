/// Divides the connections of a downloader among its transfers of large files, and remembers what hosts have shown.
///
/// A transfer asks for its ``ConnectionBudget`` at each sample. Its permit entitles it to one connection; the budget
/// bounds the further ones, which it closes when the bound falls. Further connections of one file therefore give way to
/// another file within the time between two samples.
///
/// The rates are those of the whole downloader. Two transfers that tried more connections at the same time would judge
/// each other's gains, so the transfers take turns: one tries more connections, and the others wait for its judgment.
final class ConnectionCoordinator: Sendable {
    /// A transfer that measures its rate.
    fileprivate struct Member {
        var report: ConnectionReport
        var lastSample: Duration
        /// The scheduler's count of changes at the last sample.
        var changeCount: Int
        /// The count of changed numbers of connections at the last sample.
        var numberChangeCount: Int
        /// The count of members that have left, at the last sample.
        var departureCount: Int
        /// The most connections while memory is short; nil if the transfer has started since.
        var pressureBound: Int?
    }

    fileprivate struct State {
        var hosts = HostConnections()
        /// The members, by the numbers of their transfers.
        var members: [Int: Member] = [:]
        /// How often a member has changed its number of connections.
        var numberChangeCount = 0
        /// How often a member has left.
        var departureCount = 0
        /// The number of the transfer that may try more connections, and whether it was told so; nil for no one's turn.
        var turn: (member: Int, isTold: Bool)?
        var pressure = MemoryPressure.normal
        var pressureEnd = Duration.zero
    }

    /// After how long without a sample a transfer isn't a member any more; it may be paused or wait for a retry.
    fileprivate static let membershipTime = Duration.seconds(1)
    /// The time for which a sign of memory pressure reduces the number of connections.
    private static let pressureTime = Duration.seconds(60)

    private let scheduler: TransferScheduler
    private let state = Mutex(State())

    init(scheduler: TransferScheduler) {
        self.scheduler = scheduler
    }

    /// Returns the budget of a transfer, without the values that only the transfer's environment knows.
    ///
    /// - Parameters:
    ///   - number: The number of the transfer.
    ///   - host: The host for which the transfer has its permit.
    func budget(
        of number: Int, _ report: ConnectionReport, permitHost host: String, at now: Duration
    ) -> ConnectionBudget {
        let load = scheduler.load(of: host)
        return state.withLock { state in
            var budget = ConnectionBudget()
            (budget.isDisturbed, budget.isFreed) = state.update(number, report, load, at: now)
            budget.mayTry = state.takesTurn(number)
            budget.worthwhile = state.hosts.worthwhile(report.origin)
            budget.bound = max(1, min(state.bound(report, load, at: now), state.pressureBound(of: number, at: now)))
            return budget
        }
    }

    /// Records what a transfer has found out about its host.
    func learn(_ lesson: HostLesson, about origin: Origin, at now: Duration) {
        state.withLock { $0.hosts.learn(lesson, about: origin, at: now) }
    }

    /// Removes a transfer that has ended.
    func remove(_ number: Int) {
        state.withLock { $0.remove(number) }
    }

    /// Reduces the number of connections for some time because memory is short.
    ///
    /// Further signs of the same pressure extend the time, and don't halve the number again.
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
    fileprivate mutating func remove(_ number: Int) {
        if members.removeValue(forKey: number) != nil { departureCount += 1 }
    }

    /// Records a sample of a transfer.
    ///
    /// - Returns: Whether its rate isn't comparable with that of the last sample, and whether a member has left since.
    fileprivate mutating func update(
        _ number: Int, _ report: ConnectionReport, _ load: TransferScheduler.Load, at now: Duration
    ) -> (isDisturbed: Bool, isFreed: Bool) {
        let silent = members.filter { now - $0.value.lastSample > ConnectionCoordinator.membershipTime }.map(\.key)
        for member in silent where member != number { remove(member) }
        let before = members[number]
        let ownChangeCount = before.map { $0.report.number == report.number ? 0 : 1 } ?? 0
        numberChangeCount += ownChangeCount
        members[number] = .init(
            report: report, lastSample: now, changeCount: load.changeCount, numberChangeCount: numberChangeCount,
            departureCount: departureCount, pressureBound: before?.pressureBound)
        guard let before else { return (false, false) }
        let isDisturbed =
            before.changeCount != load.changeCount
            || before.numberChangeCount + ownChangeCount != numberChangeCount
        return (isDisturbed, before.departureCount != departureCount)
    }

    /// Returns whether a transfer may try more connections now.
    ///
    /// It is a transfer's turn for one sample, and as long as it tries more connections.
    fileprivate mutating func takesTurn(_ number: Int) -> Bool {
        if let turn {
            let isOver = members[turn.member].map { turn.member == number && turn.isTold && !$0.report.isTrying }
            if isOver ?? true { self.turn = next(after: turn.member).map { ($0, false) } }
        }
        guard turn?.member ?? number == number else { return false }
        turn = (number, true)
        return true
    }

    /// Returns the transfer whose turn follows that of another one.
    private func next(after number: Int) -> Int? {
        members.keys.filter { $0 > number }.min() ?? members.keys.min()
    }

    /// Returns the most connections of a transfer.
    ///
    /// The files of a host share its connections equally. None is added while a transfer waits for a permit, or after the
    /// host has refused one. A number that the caller has chosen isn't limited.
    fileprivate func bound(_ report: ConnectionReport, _ load: TransferScheduler.Load, at now: Duration) -> Int {
        if report.isFixed { return HostPool.maximumExchangeCount }
        if hosts.ignoresRanges(report.origin) { return 1 }
        let share = HostPool.maximumExchangeCount / max(1, load.runningCount)
        let limit = min(share, hosts.limit(of: report.origin, at: now))
        let isGrowing = !load.isTransferWaiting && hosts.mayRequest(report.origin, at: now)
        return isGrowing ? limit : min(limit, report.number)
    }

    /// Returns the most connections of a transfer while memory is short: half of them, or one.
    fileprivate func pressureBound(of number: Int, at now: Duration) -> Int {
        guard now < pressureEnd else { return .max }
        switch pressure {
        case .normal: return .max
        case .warning: return members[number]?.pressureBound ?? HostPool.maximumExchangeCount / 2
        case .critical: return 1
        }
    }
}
