internal import Foundation

@testable import AsyncDownloads

/// A simulated environment of a state machine: a scheduler, a store, an engine, and a clock.
///
/// The scheduler and the store respond at once and successfully, unless a test holds them back. The engine reports what
/// the test provides, and the clock moves only when the test moves it.
struct StateMachineHarness {
    /// A response that is given automatically.
    enum Answer: CaseIterable {
        case permit, opening, beginning, saving, closing, finishing, cancelling
    }

    var machine: TransferStateMachine
    var automatic = Set(Answer.allCases)
    /// The result when the store opens the partial file.
    var finding = Result<PartialFinding, DownloadError>.success(.nothing)
    var beginning = Result<Void, DownloadError>.success(())
    /// Whether bytes may be written far behind the others.
    var allowsGaps = true
    /// Whether the host of a redirect is below its limit.
    var isBelowLimit = true
    /// The bytes that the store reports as kept when it closes the partial file; nil for all.
    var kept: IntervalSet?
    /// The result of the finished file.
    var finishing = Result<Void, DownloadError>.success(())
    /// The downloader's knowledge about the connections at the next check.
    var budget = ConnectionBudget()
    var now = Duration.zero
    /// The actions that were performed, in order; see ``TransferAction/summary``.
    private(set) var done: [String] = []
    /// The events that were emitted, in order.
    private(set) var emitted: [String] = []
    private(set) var requests: [ExchangeRequest] = []
    /// The intervals of the last mark.
    private(set) var marked = IntervalSet()
    /// The exchanges that have not ended.
    private(set) var running: Set<ExchangeID> = []
    /// The newest exchange that has not ended.
    var exchange: ExchangeID? { running.max { $0.rawValue < $1.rawValue } }
    private var retry: (due: Duration, timer: TimerID)?
    /// The reply to the last head.
    private(set) var reply = TransferStateMachine.HeadReply.proceed
    /// The time of the next periodic check.
    private(set) var tick: Duration?
    private var mark: Duration?
    private var unanswered: [TransferAction] = []

    init(_ change: (inout TransferSettings) -> Void = { _ in }) {
        var settings = TransferSettings(url: .sample("https://a.example/file"))
        settings.retryPolicy = RetryPolicy(maximumRetries: 2, baseDelay: .seconds(8))
        change(&settings)
        machine = TransferStateMachine(settings: settings, seed: 1)
    }

    /// Returns a transfer that waits for the response to its first request.
    static func connecting(_ change: (inout TransferSettings) -> Void = { _ in }) -> Self {
        var harness = Self(change)
        harness.run()
        harness.forget()
        return harness
    }

    /// Returns a transfer that waits for the same response, with the first 50 of 100 bytes on disk.
    static func resuming(
        _ representation: Representation = .sample(), _ change: (inout TransferSettings) -> Void = { _ in }
    ) -> Self {
        var harness = Self(change)
        harness.finding = .success(.bytes(representation, IntervalSet(0..<50)))
        harness.run()
        harness.forget()
        return harness
    }

    /// Returns a transfer with 50 of 100 bytes from its first exchange, of an object with a validator.
    static func receiving(_ change: (inout TransferSettings) -> Void = { _ in }) -> Self {
        var harness = Self.connecting(change)
        harness.head(200, ["Content-Length": "100", "ETag": "\"v1\""])
        harness.bytes(50)
        harness.forget()
        return harness
    }

    /// Removes all recorded actions, events, and requests.
    mutating func forget() {
        (done, emitted, requests) = ([], [], [])
    }

    /// The events that were emitted, except for progress.
    var log: [String] { emitted.filter { !$0.hasPrefix("progress") } }

    /// The error that ended the transfer.
    var failure: DownloadError? {
        for case .end(.failed(let error)) in endings { return error }
        return nil
    }

    private(set) var endings: [TransferAction] = []
    /// The observations of ended runs about their hosts.
    private(set) var observations: [HostObservation] = []
}

extension StateMachineHarness {
    mutating func run() { feed(machine.run(at: now)) }

    mutating func stop(_ intent: TransferStateMachine.Intent) { feed(machine.stop(intent, at: now)) }

    mutating func relocate() { feed(machine.relocate(at: now)) }

    /// Reports the head of an exchange, by default of the newest one.
    mutating func head(_ status: Int, _ fields: HeaderFields = [:], of exchange: ExchangeID? = nil) {
        let head = ResponseHead(status: StatusCode(status), headers: fields)
        let id = exchange ?? self.exchange ?? 0
        let (reply, actions) = machine.headArrived(head, exchange: id, at: now, date: .sample)
        self.reply = reply
        feed(actions)
        if case .start(let representation) = reply { feed([.startPartial(representation, exchange: id)]) }
    }

    /// Reports and writes bytes of an exchange, by default of the newest one.
    ///
    /// - Returns: The first part that was written; nil for none.
    @discardableResult
    mutating func bytes(_ count: Int, of exchange: ExchangeID? = nil) -> Range<Int64>? {
        let number = exchange ?? self.exchange ?? 0
        guard case .write(let parts) = machine.bytesArrived(count, exchange: number, at: now), let part = parts.first
        else { return nil }
        for part in parts { feed(machine.wrote(part.count, at: part.offset, exchange: number, at: now)) }
        return part.offset..<part.offset + Int64(part.count)
    }

    /// Reports the end of an exchange, by default of the newest one.
    mutating func end(_ end: ExchangeEnd = .complete, of exchange: ExchangeID? = nil) {
        guard let number = exchange ?? self.exchange, running.remove(number) != nil else { return }
        feed(machine.exchangeEnded(end, exchange: number, at: now))
    }

    /// Ends the current exchange with a lost connection.
    mutating func lose() { end(.failed(DownloadError(.connectionLost))) }

    /// Performs the actions that were held back for the scheduler or the store.
    mutating func catchUp() {
        automatic = Set(Answer.allCases)
        while !unanswered.isEmpty {
            if let answer = answer(unanswered.removeFirst()) { feed(answer) }
        }
    }

    /// Moves the clock, and fires every timer that becomes due.
    mutating func pass(_ duration: Duration) {
        let end = now + duration
        while let due = [tick, retry?.due, mark].compactMap({ $0 }).min(), due <= end {
            now = max(now, due)
            if tick == due {
                tick = nil
                feed(machine.tick(at: now, [:], budget))
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

    /// The current delay before the next attempt.
    var delay: Duration? { retry.map { $0.due - now } }
}

extension StateMachineHarness {
    /// Performs actions that the test has received from the machine.
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
        case .emit(let event): emitted.append(event.summary)
        case .scheduleTick(let delay): tick = now + delay
        case .scheduleRetry(let delay, let timer): retry = (now + delay, timer)
        case .scheduleMark(let delay): mark = now + delay
        case .recordHost(let found): observations.append(found.observation)
        case .markPartial(let received, _): marked = received
        case .startExchange(let number, let request):
            running.insert(number)
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
            return isBelowLimit ? machine.permitGranted(number, at: now) : machine.moveRefused(number, at: now)
        case .openPartial: return machine.opened(finding, allowsGaps: allowsGaps, at: now)
        case .startPartial(_, let id):
            return machine.partialStarted(beginning, allowsGaps: allowsGaps, exchange: id, at: now)
        case .recordPartial(_, let number): return machine.prepared(beginning, exchange: number, at: now)
        case .savePartial: return machine.saved()
        case .closePartial(let saved):
            // The next opening finds this unless the test has set another result.
            if let saved, let representation = machine.bytes.representation {
                let kept = kept ?? saved
                finding = .success(kept.isEmpty ? .nothing : .bytes(representation, kept))
            }
            return machine.closed(keeping: kept, at: now)
        case .discardPartial: return machine.closed(keeping: kept, at: now)
        case .finishPartial: return machine.finished(finishing.map { [:] }, at: now)
        case .cancelExchange(let number):
            // An exchange that is canceled twice has one end.
            guard running.remove(number) != nil else { return nil }
            return machine.exchangeEnded(.cancelled, exchange: number, at: now)
        case .abandonExchange(let number):
            running.remove(number)
            return machine.exchangeEnded(.cancelled, exchange: number, at: now)
        default: return nil
        }
    }
}

extension URL {
    static func sample(_ text: StaticString) -> URL {
        guard let url = URL(string: "\(text)") else { preconditionFailure("\(text) is not a valid URL") }
        return url
    }
}

extension Duration {
    var wholeSeconds: Int64 { components.seconds }
}
