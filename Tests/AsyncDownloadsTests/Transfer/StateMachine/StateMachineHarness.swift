internal import Foundation

@testable import AsyncDownloads

/// Everything round a state machine, played by a test: a scheduler, a store, an engine and a clock.
///
/// What the scheduler and the store have to answer they answer at once, and well, unless a test holds them back; the
/// engine says what the test makes it say; the clock moves when the test moves it.
struct StateMachineHarness {
    /// What is answered without the test's doing.
    enum Answer: CaseIterable {
        case permit, opening, beginning, saving, closing, finishing, cancelling
    }

    var machine: TransferStateMachine
    var automatic = Set(Answer.allCases)
    /// What the store finds when it opens the partial.
    var finding = Result<PartialFinding, DownloadError>.success(.nothing)
    var beginning = Result<Void, DownloadError>.success(())
    /// Whether the host that a redirect leads to has room.
    var hasRoom = true
    /// What the store says it has kept when it closes the partial; nil for everything.
    var kept: IntervalSet?
    /// What comes of the finished file.
    var finishing = Result<Void, DownloadError>.success(())
    var now = Duration.zero
    /// What was done, in order; see ``TransferAction/summary``.
    private(set) var done: [String] = []
    /// What the subscribers were told, in order.
    private(set) var told: [String] = []
    private(set) var requests: [ExchangeRequest] = []
    /// What the last mark said to be written.
    private(set) var marked = IntervalSet()
    /// The exchange whose end was not reported yet.
    private(set) var exchange: ExchangeID?
    private var retry: (due: Duration, timer: TimerID)?
    /// What the callback of the last head had to do before it returned.
    private(set) var reply = TransferStateMachine.HeadReply.proceed
    private var tick: Duration?
    private var mark: Duration?
    private var unanswered: [TransferAction] = []

    init(_ change: (inout TransferSettings) -> Void = { _ in }) {
        var settings = TransferSettings(url: .sample("https://a.example/file"))
        settings.retryPolicy = RetryPolicy(maximumRetries: 2, baseDelay: .seconds(8))
        change(&settings)
        machine = TransferStateMachine(settings: settings, seed: 1)
    }

    /// A transfer that waits for the answer to its first request.
    static func connecting(_ change: (inout TransferSettings) -> Void = { _ in }) -> Self {
        var harness = Self(change)
        harness.run()
        harness.forget()
        return harness
    }

    /// The same, with bytes from 0 to 50 on disk, of 100.
    static func resuming(
        _ representation: Representation = .sample(), _ change: (inout TransferSettings) -> Void = { _ in }
    ) -> Self {
        var harness = Self(change)
        harness.finding = .success(.bytes(representation, IntervalSet(0..<50)))
        harness.run()
        harness.forget()
        return harness
    }

    /// A transfer with 50 bytes of 100 from its first exchange, of an object with a validator.
    static func receiving(_ change: (inout TransferSettings) -> Void = { _ in }) -> Self {
        var harness = Self.connecting(change)
        harness.head(200, ["Content-Length": "100", "ETag": "\"v1\""])
        harness.bytes(50)
        harness.forget()
        return harness
    }

    /// Forgets what was done and told so far.
    mutating func forget() {
        (done, told, requests) = ([], [], [])
    }

    /// What the subscribers were told but for progress.
    var log: [String] { told.filter { !$0.hasPrefix("progress") } }

    /// The error that ended the transfer.
    var failure: DownloadError? {
        for case .end(.failed(let error)) in endings { return error }
        return nil
    }

    private(set) var endings: [TransferAction] = []
}

// MARK: - Inputs

extension StateMachineHarness {
    mutating func run() { feed(machine.run(at: now)) }

    mutating func stop(_ intent: TransferStateMachine.Intent) { feed(machine.stop(intent, at: now)) }

    /// The head of the exchange under way.
    mutating func head(_ status: Int, _ fields: HeaderFields = [:]) {
        let head = ResponseHead(status: StatusCode(status), headers: fields)
        let id = exchange ?? 0
        let (reply, actions) = machine.headArrived(head, exchange: id, at: now, date: .sample)
        self.reply = reply
        feed(actions)
        if case .start(let representation) = reply { feed([.startPartial(representation, exchange: id)]) }
    }

    /// Bytes of the exchange under way, written at once; answers what was written, nil for nothing.
    @discardableResult
    mutating func bytes(_ count: Int) -> Range<Int64>? {
        let number = exchange ?? 0
        guard case .write(let part) = machine.bytesArrived(count, exchange: number, at: now) else { return nil }
        feed(machine.wrote(part.count, at: part.offset, exchange: number, at: now))
        return part.offset..<part.offset + Int64(part.count)
    }

    /// The end of the exchange under way.
    mutating func end(_ end: ExchangeEnd = .complete) {
        guard let number = exchange else { return }
        exchange = nil
        feed(machine.exchangeEnded(end, exchange: number, at: now))
    }

    /// The end of the exchange under way by the loss of its connection.
    mutating func lose() { end(.failed(DownloadError(.connectionLost))) }

    /// Carries out what the scheduler or the store was asked for while it was held back.
    mutating func catchUp() {
        automatic = Set(Answer.allCases)
        while !unanswered.isEmpty {
            if let answer = answer(unanswered.removeFirst()) { feed(answer) }
        }
    }

    /// Lets time pass, and every timer go off that becomes due.
    mutating func pass(_ duration: Duration) {
        let end = now + duration
        while let due = [tick, retry?.due, mark].compactMap({ $0 }).min(), due <= end {
            now = max(now, due)
            if tick == due {
                tick = nil
                feed(machine.tick(at: now))
            } else if let retry, retry.due == due {
                self.retry = nil
                feed(machine.retryDue(retry.timer, at: now))
            } else {
                mark = nil
                feed(machine.markDue(at: now))
            }
        }
        now = end
    }

    /// The delay that is being waited for before the next attempt.
    var delay: Duration? { retry.map { $0.due - now } }
}

// MARK: - Actions

extension StateMachineHarness {
    /// Takes actions that the test got from the machine itself.
    mutating func feed(_ actions: [TransferAction]) {
        var pending = actions
        while !pending.isEmpty {
            let action = pending.removeFirst()
            note(action)
            if isHeldBack(action) {
                unanswered.append(action)
            } else if let answer = answer(action) {
                pending += answer
            }
        }
    }

    private mutating func note(_ action: TransferAction) {
        switch action {
        case .emit(let event): told.append(event.summary)
        case .scheduleTick(let delay): tick = now + delay
        case .scheduleRetry(let delay, let timer): retry = (now + delay, timer)
        case .scheduleMark(let delay): mark = now + delay
        case .markPartial(let received): marked = received
        case .startExchange(let number, let request):
            exchange = number
            requests.append(request)
            done.append(action.summary)
        case .end:
            endings.append(action)
            done.append(action.summary)
        default:
            done.append(action.summary)
        }
    }

    private func isHeldBack(_ action: TransferAction) -> Bool {
        switch action {
        case .requestPermit, .movePermit: !automatic.contains(.permit)
        case .openPartial: !automatic.contains(.opening)
        case .startPartial, .recordPartial: !automatic.contains(.beginning)
        case .savePartial: !automatic.contains(.saving)
        case .closePartial, .discardPartial: !automatic.contains(.closing)
        case .finishPartial: !automatic.contains(.finishing)
        case .cancelExchange: !automatic.contains(.cancelling)
        default: false
        }
    }

    private mutating func answer(_ action: TransferAction) -> [TransferAction]? {
        switch action {
        case .requestPermit(_, let number): return machine.permitGranted(number, at: now)
        case .movePermit(_, let number):
            return hasRoom ? machine.permitGranted(number, at: now) : machine.moveRefused(number, at: now)
        case .openPartial: return machine.opened(finding, at: now)
        case .startPartial(_, let id): return machine.partialStarted(beginning, exchange: id, at: now)
        case .recordPartial(_, let number): return machine.prepared(beginning, exchange: number, at: now)
        case .savePartial: return machine.saved()
        case .closePartial(let saved):
            // What the next opening finds, unless the test says something else.
            if let saved, let representation = machine.bytes.representation {
                let kept = kept ?? saved
                finding = .success(kept.isEmpty ? .nothing : .bytes(representation, kept))
            }
            return machine.closed(keeping: kept, at: now)
        case .discardPartial: return machine.closed(keeping: kept, at: now)
        case .finishPartial: return machine.finished(finishing.map { [:] }, at: now)
        case .cancelExchange(let number):
            // An exchange that is cancelled twice has one end.
            guard exchange == number else { return nil }
            exchange = nil
            return machine.exchangeEnded(.cancelled, exchange: number, at: now)
        case .abandonExchange(let number):
            exchange = nil
            return machine.exchangeEnded(.cancelled, exchange: number, at: now)
        default: return nil
        }
    }
}

extension TransferStateMachine {
    /// Changes whether a subscriber can be asked for a fresh URL.
    mutating func setRefreshable(_ isRefreshable: Bool) {
        var demands = demands
        demands.isRefreshable = isRefreshable
        setDemands(demands)
    }
}

extension TransferStateMachine.State {
    /// The delay that is awaited.
    var timer: TimerID? {
        switch self {
        case .backingOff(let timer, _): timer
        case .refreshing(_, let timer): timer
        default: nil
        }
    }
}

extension ExchangeSet {
    /// The exchange of a transfer over one connection.
    var first: ExchangeProgress? { all.first?.exchange }
}

extension ExchangeID: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int) { self.init(rawValue: value) }
}

extension TimerID: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int) { self.init(rawValue: value) }
}

extension SubscriberID: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int) { self.init(rawValue: value) }
}

extension WaiterID: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int) { self.init(rawValue: value) }
}

extension RefreshID: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int) { self.init(rawValue: value) }
}

extension URL {
    static func sample(_ text: StaticString) -> URL {
        guard let url = URL(string: "\(text)") else { preconditionFailure("\(text) is no URL") }
        return url
    }
}

extension Duration {
    var wholeSeconds: Int64 { components.seconds }
}

/// What the one subscriber of these tests demands.
extension TransferSettings {
    var retryPolicy: RetryPolicy {
        get { demands.retryPolicy }
        set { demands.retryPolicy = newValue }
    }

    var idleTimeout: Duration? {
        get { demands.idleTimeout }
        set { demands.idleTimeout = newValue }
    }

    var maximumByteCount: Int64? {
        get { demands.byteLimit }
        set { demands.byteLimit = newValue }
    }
}
