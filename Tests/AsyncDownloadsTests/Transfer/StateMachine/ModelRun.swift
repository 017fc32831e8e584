internal import Foundation

@testable import AsyncDownloads

/// A run of one state machine against a model of its environment, in an order and with faults drawn from a seed.
///
/// As in ``ActiveTransfer``, decisions are made at once and performed later, one action after another. Anything else may
/// happen in between: commands, callbacks of the engine, timers, and results of the store.
struct ModelRun {
    enum Permit { case none, requested, held }

    /// An exchange of the engine.
    struct Exchange {
        let number: ExchangeID
        let request: ExchangeRequest
        var response: ModelResponse?
        var position = 0
        var isCancelled = false
        var isHeldBack = false
        var isStalled = false
        /// Whether one of its callbacks is in progress, during which the machine receives no end.
        var isInCallback = false
        /// The end that is held until the callback returns.
        var heldEnd: ExchangeEnd?
    }

    /// An event that can happen next.
    enum Move: CaseIterable {
        case action, scheduler, store, engine, time, caller, object, refresh
    }

    var machine: TransferStateMachine
    var generator: SplitMix64
    var server: ModelServer
    var store: ModelStore
    var now = Duration.zero
    /// The exchanges that have not ended, in the order in which they were started.
    var exchanges: [Exchange] = []
    var commands: Int
    let isPassing: Bool
    /// The number of exchanges that may run at the same time.
    let connections: Int
    private(set) var violations: [String] = []
    /// A description of what happened, for failure messages; empty if no history is kept.
    private(set) var history: [String] = []
    /// The number of descriptions, also of those that are not kept.
    private(set) var noteCount = 0
    private let keepsHistory: Bool
    var ending: TransferEnding?
    /// The reasons why bytes were discarded.
    private(set) var restarts: Set<RestartReason> = []

    var (permit, permitNumber) = (Permit.none, PermitRequestID(rawValue: 0))
    /// The host to which the permit is being moved.
    var movingHost: String?
    var (actions, storeQueue): ([TransferAction], [TransferAction]) = ([], [])
    /// The timers of all delays, including those that were canceled.
    var retries: [(due: Duration, timer: TimerID)] = []
    /// The refreshes that were requested, including those that are no longer needed.
    var refreshes: [RefreshID] = []
    /// The requested refreshes that ask for secret headers instead of a URL.
    var authorizations: Set<RefreshID> = []
    var tick: Duration?
    var mark: Duration?
    /// The phases that followed each phase.
    private(set) var exits: [TransferStateMachine.Phase: Set<TransferStateMachine.Phase>] = [:]
    private var lastPhase = TransferStateMachine.Phase.ready
    private var lastProgress: Int64 = 0

    /// Creates a run.
    ///
    /// - Parameters:
    ///   - faults: How often the server, the network, and the disk may fail.
    ///   - commands: How often commands may interrupt the transfer.
    ///   - connections: How many exchanges may run at the same time.
    ///   - passing: Whether a transfer with enough retries can survive every fault, and no command ends the transfer.
    ///   - isAutomatic: Whether the number of exchanges is chosen automatically.
    ///   - keepsHistory: Whether what happens is described, which takes longer than the run.
    init(
        seed: UInt64, faults: Int, commands: Int, connections: Int = 1, passing: Bool = false,
        isAutomatic: Bool = false, keepsHistory: Bool = false
    ) {
        self.keepsHistory = keepsHistory
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
        settings.connections = isAutomatic ? .automatic(maximum: connections) : .fixed(connections)
        settings.segmentLimits = .init(shortestSegment: 5, longestSurplus: Int64(seed % 20))
        if faults > 0, !passing, Int.random(in: 0..<6, using: &generator) == 0 { settings.maximumByteCount = 60 }
        machine = TransferStateMachine(settings: settings, seed: seed)
        server = ModelServer(faults: faults, passing: passing, using: &generator)
        server.limit = 1 + Int(seed % 6)
        store = ModelStore(faults: passing || faults == 0 ? 0 : Int.random(in: 0...2, using: &generator))
        var policies = machine.policies
        policies.isRefreshable = Bool.random(using: &generator)
        policies.isAuthorizing = Int.random(in: 0..<4, using: &generator) == 0
        machine.setPolicies(policies)
        isPassing = passing
        self.connections = connections
        self.generator = generator
        self.commands = commands
    }

    /// Runs until no event is left.
    mutating func run() {
        take("run", machine.run(at: now))
        for _ in 0..<20_000 {
            let moves = Move.allCases.filter(isPossible)
            // Timers fire, commands are given, and objects change now and then, and when nothing else can happen.
            let usual = moves.filter { ![.time, .caller, .object].contains($0) }
            let isUnusual = Int.random(in: 0..<12, using: &generator) == 0
            guard let move = (usual.isEmpty || isUnusual ? moves : usual).randomElement(using: &generator) else {
                guard machine.phase == .awaitingNetwork else { return checkFinalState() }
                changeNetwork(isAvailable: true)
                continue
            }
            make(move)
            if !violations.isEmpty || !store.violations.isEmpty { return }
        }
        violations.append("no rest")
    }

    private func isPossible(_ move: Move) -> Bool {
        switch move {
        case .action: !actions.isEmpty
        // A permit that is granted while it is being released is covered by a separate test.
        case .scheduler: permit == .requested && actions.isEmpty
        case .store: !storeQueue.isEmpty
        case .engine: !readyExchanges.isEmpty
        case .time: tick != nil || mark != nil || !retries.isEmpty
        case .caller: commands > 0 && ending == nil
        case .object: server.faults > 0 && !isPassing && !exchanges.isEmpty
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
                take("\(host) is at its limit", machine.moveRefused(permitNumber, at: now))
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
            let (length, proof, tag) = (server.length, server.proof, server.tag)
            note("object changes, \(length) bytes, \(proof), \(tag)")
        case .refresh: callerRefreshes()
        }
    }

    /// Records a decision: events are emitted at once, and other actions are performed in order.
    mutating func take(_ input: @autoclosure () -> String, _ decided: [TransferAction]) {
        let (now, phase) = (now, machine.phase)
        note("\(now) \(input()): \(decided.map(\.summary)), \(phase)")
        if phase != lastPhase { exits[lastPhase, default: []].insert(phase) }
        lastPhase = phase
        check(ending == nil || decided.isEmpty, "actions after the end")
        check(
            !decided.contains(where: \.isStart) || machine.networkHindrance == nil,
            "a request without a permitted network")
        let (tick, start) = (decided.firstIndex(where: \.isTick), decided.firstIndex(where: \.isStart))
        check(start == nil || tick ?? 0 <= start ?? 0, "the callbacks of an exchange precede the first periodic check")
        for action in decided {
            if case .emit(let event) = action { recordEvent(event) } else { actions.append(action) }
        }
        check(!store.isOpen || store.holds(machine.bytes.intervals), "more bytes are received than written")
    }

    private mutating func recordEvent(_ event: DownloadEvent) {
        switch event {
        case .restarted(let reason, _):
            lastProgress = 0
            restarts.insert(reason)
        case .progress(let progress):
            check(progress.receivedByteCount >= lastProgress, "rule 56: progress went backwards")
            lastProgress = progress.receivedByteCount
        case .paused(let received):
            check(received >= lastProgress, "rule 56: progress went backwards")
            check(received <= store.keptCount, "rule 54: paused with more than is kept")
        case .resumed(let offset):
            check(machine.bytes.count >= lastProgress, "rule 56: progress went backwards")
            check(offset == machine.bytes.intervals.prefixEnd, "resumed behind the first missing byte")
        case .verifying:
            check(lastProgress == machine.bytes.count, "rule 57: the last progress was not emitted")
        default:
            break
        }
    }

    /// Lets another event happen between two steps of a callback.
    mutating func interrupt() {
        if server.faults > 0, !isPassing, Int.random(in: 0..<10, using: &generator) == 0 {
            note("an end inside a callback")
            if let number = exchanges.randomElement(using: &generator)?.number {
                end(.failed(DownloadError(.connectionLost)), of: number)
            }
        }
        // Other exchanges have their own callbacks at the same time.
        for move in [Move.caller, .store, .action, .time, .refresh, .engine] where isPossible(move) {
            if Int.random(in: 0..<10, using: &generator) == 0 { make(move) }
        }
    }

    mutating func note(_ text: @autoclosure () -> String) {
        noteCount += 1
        if keepsHistory { history.append(text()) }
    }

    mutating func check(_ condition: Bool, _ violation: @autoclosure () -> String) {
        if !condition { violations.append(violation()) }
    }

    /// Checks the state when no event is left: it must be ended or paused, with no open file or exchange.
    private mutating func checkFinalState() {
        let phase = machine.phase
        check(phase == .ended || phase == .paused, "came to rest in \(phase)")
        check((ending != nil) == (phase == .ended), "the phase and the end action differ")
        check(permit == .none, "came to rest with a permit")
        check(!store.isOpen, "came to rest with an open partial file")
        check(exchanges.isEmpty, "came to rest with an exchange")
        check(machine.intent != .run || ending != nil, "came to rest although it should run")
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

extension TransferAction {
    fileprivate var isTick: Bool { if case .scheduleTick = self { true } else { false } }
    fileprivate var isStart: Bool { if case .startExchange = self { true } else { false } }
}
