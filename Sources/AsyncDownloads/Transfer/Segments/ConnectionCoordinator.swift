/// Divides the connections of a downloader among its transfers of large files, and remembers what hosts have shown.
///
/// A transfer asks for its ``ConnectionBudget`` at each sample. Its permit entitles it to one connection; the budget
/// bounds the further ones, which it closes when the bound falls. Further connections of one file therefore give way to
/// another file within the time between two samples.
final class ConnectionCoordinator: Sendable {
    /// A transfer that measures its rate.
    fileprivate struct Member {
        var report: ConnectionReport
        var lastSample: Duration
        var isDisturbed = false
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
    /// The time for which memory pressure reduces the number of connections.
    static let pressureTime = Duration.seconds(60)

    private let scheduler: TransferScheduler
    private let state = Mutex(State())

    init(scheduler: TransferScheduler) {
        self.scheduler = scheduler
    }

    /// Returns the budget of a transfer, without the values that are known to the transfer's environment only.
    ///
    /// - Parameters:
    ///   - number: The number of the transfer.
    ///   - host: The host for which the transfer has its permit.
    func budget(
        of number: Int, _ report: ConnectionReport, permitHost host: String, at now: Duration
    )
        -> ConnectionBudget
    {
        let load = scheduler.load(of: host)
        return state.withLock { state in
            state.update(number, report, at: now)
            var budget = ConnectionBudget()
            budget.bound = max(1, min(state.bound(report, load, at: now), state.pressureBound(of: number, at: now)))
            budget.worthwhile = state.hosts.worthwhile(report.origin)
            budget.mayTry = !state.members.contains { $0.key != number && $0.value.report.isTrying }
            budget.isDisturbed = state.takeDisturbance(of: number)
            return budget
        }
    }

    /// Records what a transfer has found out about its host.
    func learn(_ lesson: HostLesson, about origin: Origin, at now: Duration) {
        state.withLock { $0.hosts.learn(lesson, about: origin, at: now) }
    }

    /// Removes a transfer that has ended.
    func remove(_ number: Int) {
        state.withLock { state in
            if state.members.removeValue(forKey: number) != nil { state.disturb() }
        }
    }

    /// Reduces the number of connections for some time because memory is short.
    func pressureChanged(to level: MemoryPressure, at now: Duration) {
        state.withLock { state in
            (state.pressure, state.pressureEnd) = (level, now + Self.pressureTime)
            for (number, member) in state.members { state.members[number]?.pressureBound = member.report.number / 2 }
        }
    }
}

extension ConnectionCoordinator.State {
    /// Records a sample of a transfer, and notes for the others whether their rates are comparable with earlier ones.
    fileprivate mutating func update(_ number: Int, _ report: ConnectionReport, at now: Duration) {
        let silent = members.filter { now - $0.value.lastSample > ConnectionCoordinator.membershipTime }.map(\.key)
        for member in silent where member != number { members[member] = nil }
        let before = members[number]?.report
        if !silent.isEmpty || before?.number != report.number { disturb(except: number) }
        members[number, default: .init(report: report, lastSample: now)].report = report
        members[number]?.lastSample = now
    }

    /// Notes that the rates of the other members change.
    fileprivate mutating func disturb(except number: Int? = nil) {
        for member in members.keys where member != number { members[member]?.isDisturbed = true }
    }

    fileprivate mutating func takeDisturbance(of number: Int) -> Bool {
        defer { members[number]?.isDisturbed = false }
        return members[number]?.isDisturbed ?? false
    }

    /// Returns the most connections of a transfer.
    ///
    /// The files of a host share its connections equally. None is added while a transfer waits for a permit, or after
    /// the host has refused one. A number that the caller has chosen is limited only by what the host accepts.
    fileprivate func bound(_ report: ConnectionReport, _ load: TransferScheduler.Load, at now: Duration) -> Int {
        let limit = hosts.limit(of: report.origin, at: now)
        if report.isFixed { return limit }
        if hosts.ignoresRanges(report.origin) { return 1 }
        let share = limit / max(1, load.runningCount)
        let isGrowing = !load.isTransferWaiting && hosts.mayRequest(report.origin, at: now)
        return isGrowing ? share : min(share, report.number)
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
