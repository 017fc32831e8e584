/// Divides the connections of a downloader among its transfers of large files, and remembers what hosts have shown.
///
/// A transfer asks for its ``ConnectionBudget`` at each sample. Its permit entitles it to one connection; the budget
/// bounds the further ones, which it closes when the bound falls. Further connections of one file therefore give way to
/// another file within the time between two samples.
///
/// The rates are those of the whole downloader. Two transfers that tried more connections at the same time would judge
/// each other's gains, so a transfer adds connections only while no other one measures.
final class ConnectionCoordinator: Sendable {
    /// A transfer that measures its rate.
    fileprivate struct Member {
        var report: ConnectionReport
        var lastSample: Duration
        /// The scheduler's count of changes at the last sample.
        var changeCount: Int
        /// The most connections while memory is short; nil if the transfer has started since.
        var pressureBound: Int?
    }

    fileprivate struct State {
        var hosts = HostConnections()
        /// The members, by the numbers of their transfers.
        var members: [Int: Member] = [:]
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
            budget.isDisturbed = state.update(number, report, load, at: now)
            budget.mayTry = state.members.count == 1
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
        state.withLock { $0.members[number] = nil }
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
    /// Records a sample of a transfer, and returns whether its rate isn't comparable with that of the last sample.
    fileprivate mutating func update(
        _ number: Int, _ report: ConnectionReport, _ load: TransferScheduler.Load, at now: Duration
    ) -> Bool {
        let silent = members.filter { now - $0.value.lastSample > ConnectionCoordinator.membershipTime }.map(\.key)
        for member in silent where member != number { members[member] = nil }
        let before = members[number]
        members[number] = .init(
            report: report, lastSample: now, changeCount: load.changeCount, pressureBound: before?.pressureBound)
        return before.map { $0.changeCount != load.changeCount } ?? false
    }

    /// Returns the most connections of a transfer.
    ///
    /// The files of a host share its connections equally. None is added while another transfer measures or waits for a
    /// permit, or after the host has refused one. A number that the caller has chosen isn't limited.
    fileprivate func bound(_ report: ConnectionReport, _ load: TransferScheduler.Load, at now: Duration) -> Int {
        if report.isFixed { return HostPool.maximumExchangeCount }
        if hosts.ignoresRanges(report.origin) { return 1 }
        let share = HostPool.maximumExchangeCount / max(1, load.runningCount)
        let limit = min(share, hosts.limit(of: report.origin, at: now))
        let isGrowing = members.count == 1 && !load.isTransferWaiting && hosts.mayRequest(report.origin, at: now)
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
