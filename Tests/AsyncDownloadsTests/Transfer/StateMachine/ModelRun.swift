internal import Foundation

@testable import AsyncDownloads

/// Drives one state machine against a model of everything round it, in an order and with faults drawn from a seed.
///
/// As in ``Transfer``, decisions are made at once and carried out later, one action after another, while anything else
/// may happen in between: callers, the engine's callbacks, timers, the store's answers.
struct ModelRun {
    enum Permit { case none, requested, held }

    /// An exchange of the engine's.
    struct Exchange {
        let number: ExchangeID
        let request: ExchangeRequest
        var response: ModelResponse?
        var position = 0
        var isCancelled = false
        var isHeldBack = false
        var isStalled = false
        /// Whether one of its callbacks is in progress, during which no end reaches the machine.
        var isInCallback = false
        /// The end that is held until the callback returns.
        var heldEnd: ExchangeEnd?
    }

    /// What may happen next.
    enum Move: CaseIterable {
        case action, scheduler, store, engine, time, caller, object, refresh
    }

    var machine: TransferStateMachine
    var generator: SplitMix64
    var server: ModelServer
    var store: ModelStore
    var now = Duration.zero
    var exchange: Exchange?
    var commands: Int
    let isPassing: Bool
    private(set) var violations: [String] = []
    /// What happened, for whoever has to find out why.
    var history: [String] = []
    var ending: TransferEnding?
    /// Why bytes were given up.
    private(set) var restarts: Set<RestartReason> = []

    var permit = Permit.none
    var permitNumber = PermitRequestID(rawValue: 0)
    /// The other host that a permit is to be used for.
    var movingHost: String?
    var actions: [TransferAction] = []
    var storeQueue: [TransferAction] = []
    /// The timers of every delay, also of those that were cut short.
    var retries: [(due: Duration, timer: TimerID)] = []
    /// The fresh URLs that were asked for, also those that nobody waits for any more.
    var refreshes: [RefreshID] = []
    var tick: Duration?
    var mark: Duration?
    /// The phases that followed each phase.
    private(set) var exits: [TransferStateMachine.Phase: Set<TransferStateMachine.Phase>] = [:]
    private var lastPhase = TransferStateMachine.Phase.ready
    private var lastProgress: Int64 = 0

    /// - Parameters:
    ///   - faults: How often server, network and disk may fail.
    ///   - commands: How often callers may intervene.
    ///   - passing: Whether only such faults happen as a transfer with retries enough survives, and nobody leaves.
    init(seed: UInt64, faults: Int, commands: Int, passing: Bool = false) {
        var generator = SplitMix64(seed: seed)
        var settings = TransferSettings(url: .sample("https://a.example/file"))
        let retries = passing ? 100 : Int.random(in: 0...3, using: &generator)
        settings.retryPolicy = RetryPolicy(maximumRetries: retries)
        settings.idleTimeout = .seconds(5)
        if Int.random(in: 0..<4, using: &generator) == 0 {
            settings.checksum = .sha256(String(repeating: "0", count: 64))
            settings.contentChangePolicy = .verify
        }
        settings.windowLength = [nil, 20, 50].randomElement(using: &generator) ?? nil
        settings.decodesContent = Bool.random(using: &generator)
        settings.progressInterval = Bool.random(using: &generator) ? .zero : .milliseconds(100)
        if faults > 0, !passing, Int.random(in: 0..<6, using: &generator) == 0 { settings.maximumByteCount = 60 }
        machine = TransferStateMachine(settings: settings, seed: seed)
        server = ModelServer(faults: faults, passing: passing, using: &generator)
        store = ModelStore(faults: passing || faults == 0 ? 0 : Int.random(in: 0...2, using: &generator))
        machine.setRefreshable(Bool.random(using: &generator))
        isPassing = passing
        self.generator = generator
        self.commands = commands
    }

    /// Runs until nothing more can happen.
    mutating func run() {
        take("run", machine.run(at: now))
        for _ in 0..<20_000 {
            let moves = Move.allCases.filter(isPossible)
            // Timers go off, callers intervene and objects change now and then, and where nothing else is to be done.
            let usual = moves.filter { ![.time, .caller, .object].contains($0) }
            let isUnusual = Int.random(in: 0..<12, using: &generator) == 0
            guard let move = (usual.isEmpty || isUnusual ? moves : usual).randomElement(using: &generator) else {
                return checkRest()
            }
            make(move)
            if !violations.isEmpty || !store.violations.isEmpty { return }
        }
        violations.append("no rest")
    }

    private func isPossible(_ move: Move) -> Bool {
        switch move {
        case .action: !actions.isEmpty
        // A permit that crosses its withdrawal is another story, told by a scenario.
        case .scheduler: permit == .requested && actions.isEmpty
        case .store: !storeQueue.isEmpty
        case .engine: exchange.map { !$0.isStalled || $0.isCancelled } ?? false
        case .time: tick != nil || mark != nil || !retries.isEmpty
        case .caller: commands > 0 && ending == nil
        case .object: server.faults > 0 && !isPassing && exchange != nil
        case .refresh: !refreshes.isEmpty
        }
    }

    mutating func make(_ move: Move) {
        switch move {
        case .action: perform(actions.removeFirst())
        case .scheduler:
            permit = .held
            if let host = movingHost, Bool.random(using: &generator) {
                permit = .none
                take("no room at \(host)", machine.moveRefused(permitNumber, at: now))
            } else {
                take("permit", machine.permitGranted(permitNumber, at: now))
            }
        case .store: storeAnswers()
        case .engine: engineReports()
        case .time: timeGoesOn()
        case .caller: callerIntervenes()
        case .object:
            server.faults -= 1
            server.change(using: &generator)
            history.append("object changes, \(server.length) bytes, \(server.proof), \(server.tag)")
        case .refresh: callerRefreshes()
        }
    }

    /// Notes what was decided: events are told at once, everything else waits its turn.
    mutating func take(_ input: String, _ decided: [TransferAction]) {
        history.append("\(now) \(input): \(decided.map(\.summary)), \(machine.phase)")
        if machine.phase != lastPhase { exits[lastPhase, default: []].insert(machine.phase) }
        lastPhase = machine.phase
        check(ending == nil || decided.isEmpty, "actions after the end")
        for action in decided {
            if case .emit(let event) = action { hear(event) } else { actions.append(action) }
        }
        check(!store.isOpen || store.holds(machine.bytes.intervals), "more received than written")
    }

    private mutating func hear(_ event: DownloadEvent) {
        switch event {
        case .restarted(let reason, _):
            lastProgress = 0
            restarts.insert(reason)
        case .progress(let progress):
            check(progress.receivedByteCount >= lastProgress, "rule 56: progress went backwards")
            lastProgress = progress.receivedByteCount
        case .paused(let received), .resumed(let received):
            check(received >= lastProgress, "rule 56: progress went backwards")
            if case .paused = event { check(received <= store.keptCount, "rule 54: paused with more than is kept") }
        case .verifying:
            check(lastProgress == machine.bytes.count, "rule 57: the last progress was not told")
        default:
            break
        }
    }

    private mutating func callerIntervenes() {
        commands -= 1
        switch Int.random(in: 0..<(isPassing ? 18 : 20), using: &generator) {
        case 0..<6: take("pause", machine.stop(.pause, at: now))
        case 6..<16: take("run", machine.run(at: now))
        case 16, 17: take("replace", machine.replaceAddress(freshAddress(), at: now))
        case 18: take("park", machine.stop(.abandon, at: now))
        default: take("discard", machine.stop(.discard, at: now))
        }
    }

    private mutating func freshAddress() -> SourceAddress.Replacement {
        let delay = Bool.random(using: &generator) ? Duration.seconds(Int.random(in: -2...9, using: &generator)) : nil
        let url =
            Bool.random(using: &generator) ? URL.sample("https://a.example/new") : .sample("https://b.example/new")
        return .init(url: url, headers: nil, expiresAt: delay.map { now + $0 })
    }

    private mutating func callerRefreshes() {
        let number = refreshes.removeFirst()
        let isAwaited = machine.state.refresh == number
        let isFailure = !isPassing && Int.random(in: 0..<4, using: &generator) == 0
        let result: Result<SourceAddress.Replacement, DownloadError> =
            isFailure ? .failure(DownloadError(.urlRefreshFailed)) : .success(freshAddress())
        let before = machine.phase
        let actions = machine.refreshed(result, number, at: now)
        check(isAwaited || actions.isEmpty && machine.phase == before, "a superseded fresh URL was taken")
        take("refreshed \(number)", actions)
        if isAwaited { check(machine.state.refresh != number, "a fresh URL was not taken") }
    }

    /// Lets somebody else come between two steps of a callback.
    mutating func interrupt() {
        if server.faults > 0, !isPassing, Int.random(in: 0..<10, using: &generator) == 0 {
            history.append("an end inside a callback")
            end(.failed(DownloadError(.connectionLost)))
        }
        for move in [Move.caller, .store, .action, .time, .refresh] where isPossible(move) {
            if Int.random(in: 0..<10, using: &generator) == 0 { make(move) }
        }
    }

    mutating func check(_ condition: Bool, _ violation: String) {
        if !condition { violations.append(violation) }
    }

    /// Nothing can happen any more: the transfer must be over, or paused, with nothing open.
    private mutating func checkRest() {
        check(machine.phase == .ended || machine.phase == .paused, "rests in \(machine.phase)")
        check((ending != nil) == (machine.phase == .ended), "an end without an ending")
        check(permit == .none, "rests with a permit")
        check(!store.isOpen, "rests with an open partial")
        check(exchange == nil, "rests with an exchange")
        check(machine.intent != .run || ending != nil, "rests although it should run")
        guard ending != nil else { return }
        for intent in [TransferStateMachine.Intent.pause, .abandon, .discard] {
            take("late", machine.stop(intent, at: now))
        }
        take("late", machine.run(at: now))
        take("late", machine.tick(at: now))
        take("late", machine.markDue(at: now))
        take("late", machine.permitGranted(permitNumber, at: now))
        take("late", machine.retryDue(1, at: now))
        take("late", machine.replaceAddress(.init(url: .sample("https://c.example/")), at: now))
        take("late", machine.purge(at: now))
        take("late", machine.saved())
    }
}

extension TransferStateMachine.State {
    /// The fresh URL that is awaited.
    fileprivate var refresh: RefreshID? {
        switch self {
        case .refreshing(let id, _), .closing(.refreshing(let id)): id
        default: nil
        }
    }
}
