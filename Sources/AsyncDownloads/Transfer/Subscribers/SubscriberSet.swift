internal import Foundation

/// One handle that is attached to a transfer: what it asked for, what it still has to be told, and how it ended.
///
/// A value without effects: whoever is to be woken is returned, to be called when no lock is held.
struct Subscriber: Sendable {
    typealias Outcome = Result<DownloadedFile, DownloadError>

    let request: DownloadRequest
    let terms: SubscriberTerms
    fileprivate(set) var isPaused = false
    /// Whether the handle is still there.
    var isHeld = true
    fileprivate(set) var outcome: Outcome?
    var buffers: [Int: EventBuffer]
    /// The state that onlookers were woken for last.
    private var lastObservedState: DownloadState?
    /// What to call with the outcome.
    var waiters: [Int: @Sendable (Outcome) -> Void] = [:]
    /// The path that is reserved for its file.
    var reservedPath: String?
    fileprivate(set) var deadline: DeadlineClock?
    /// What goes off at the deadline.
    var deadlineTimer: (any ScheduledAction)?

    init(request: DownloadRequest, terms: SubscriberTerms, firstBuffer: Int) {
        self.request = request
        self.terms = terms
        deadline = terms.deadline.map { DeadlineClock(limit: $0) }
        buffers = [firstBuffer: EventBuffer()]
    }

    /// Whether anybody listens or awaits, onlookers not counted.
    var hasConsumers: Bool {
        !waiters.isEmpty || buffers.values.contains { $0.isClaimed && !$0.isObserver }
    }

    /// Whether it is paused, and nobody can resume it but by resuming all downloads.
    var isUnreachable: Bool { isPaused && !isHeld && !hasConsumers }

    /// Whether nothing can ask for it any more: it has its outcome, its handle is gone, and nobody reads or waits.
    var isForgettable: Bool {
        outcome != nil && !isHeld && waiters.isEmpty && !buffers.values.contains(where: \.isClaimed)
    }

    mutating func emit(_ event: DownloadEvent) -> [DeferredEffect] {
        var effects: [DeferredEffect] = []
        for id in buffers.keys { effects += buffers[id]?.put(event) ?? [] }
        return effects
    }

    /// Wakes those who look on when the state has changed, since not every change is an event.
    mutating func show(_ state: DownloadState, _ progress: DownloadProgress) -> [DeferredEffect] {
        guard state != lastObservedState else { return [] }
        lastObservedState = state
        var effects: [DeferredEffect] = []
        for (id, buffer) in buffers where buffer.isObserver {
            effects += buffers[id]?.put(.progress(progress)) ?? []
        }
        return effects
    }

    fileprivate mutating func end(_ outcome: Outcome) -> [DeferredEffect] {
        self.outcome = outcome
        var effects: [DeferredEffect] = []
        for id in buffers.keys {
            switch outcome {
            case .success(let file):
                effects += buffers[id]?.put(.finished(file)) ?? []
                effects += buffers[id]?.finish(nil) ?? []
            case .failure(let error):
                effects += buffers[id]?.finish(error) ?? []
            }
        }
        for waiter in waiters.values { effects.append(DeferredEffect { waiter(outcome) }) }
        waiters = [:]
        if let timer = takeDeadlineTimer() { effects.append(DeferredEffect { timer.cancel() }) }
        return effects
    }

    mutating func takeReservedPath() -> String? {
        defer { reservedPath = nil }
        return reservedPath
    }

    mutating func takeDeadlineTimer() -> (any ScheduledAction)? {
        defer { deadlineTimer = nil }
        return deadlineTimer
    }
}

/// The subscribers of one transfer, and what they demand together.
///
/// What they demand is kept up to date by each change, so that attaching and leaving cost the same whether there are two
/// subscribers or a hundred thousand. One that has its outcome is forgotten when its handle and its streams are gone.
struct SubscriberSet: Sendable {
    typealias Outcome = Subscriber.Outcome

    private(set) var all: [Int: Subscriber] = [:]
    /// The numbers of those without an outcome in the order in which they came, among numbers of others.
    private var order: [Int] = []
    private(set) var activeCount = 0
    private var pausedCount = 0
    private var refreshableCount = 0
    private var priorities = Tally<DownloadRequest.Priority>()
    private var byteLimits = Tally<Int64?>()
    private var idleTimeouts = Tally<Duration?>()
    private var retryPolicies = Tally<RetryPolicy>()
    /// The last one that left although the transfer went on.
    private(set) var lastToLeave: (number: Int, request: DownloadRequest)?

    /// The algorithms of the checksums that were given, also by subscribers that have left since.
    private(set) var algorithms: Set<Checksum.Algorithm> = []
    /// Whether a subscriber gave no checksum, so that the server's has to do.
    private(set) var isAnyUnchecked = false
    /// Whether a subscriber wanted a file, also one that has left since.
    private(set) var wantsFile = false
    /// Whether anybody has looked on.
    private(set) var hasObservers = false
    /// Those whose state may have changed since ``takeChanged()``, apart from the transfer's own.
    private var changed: [Int] = []
    private var lastNumber = 0

    /// Those whose outcome is open, in the order in which they came.
    var active: [(number: Int, subscriber: Subscriber)] {
        order.compactMap { number in
            guard let subscriber = all[number], subscriber.outcome == nil else { return nil }
            return (number, subscriber)
        }
    }

    /// Whether nobody waits for the file any more.
    var isEmpty: Bool { activeCount == 0 }

    /// Whether everyone who waits for the file has paused.
    var arePaused: Bool { activeCount > 0 && pausedCount == activeCount }

    /// The most urgent priority of those who wait.
    var priority: DownloadRequest.Priority { priorities.values.max() ?? .low }

    /// What those who wait demand; `last` where nobody does.
    func demands(after last: SubscriberDemands) -> SubscriberDemands {
        guard activeCount > 0 else { return last }
        return SubscriberDemands(
            byteLimit: Self.most(byteLimits), idleTimeout: Self.most(idleTimeouts),
            retryPolicy: retryPolicies.values.reduce(into: .never) { if $1.isMorePatient(than: $0) { $0 = $1 } },
            isRefreshable: refreshableCount > 0, wantsFile: wantsFile)
    }

    /// The largest value, where nil is larger than any other.
    private static func most<Value: Comparable>(_ tally: Tally<Value?>) -> Value? {
        var most: Value?
        for value in tally.values {
            guard let value else { return nil }
            if most.map({ value > $0 }) ?? true { most = value }
        }
        return most
    }

    /// Those who wait and accept less than `count` bytes, where others accept more.
    func oversized(_ count: Int64) -> [(number: Int, limit: Int64)] {
        guard byteLimits.values.count > 1, byteLimits.values.contains(where: { $0.map { $0 < count } ?? false }) else {
            return []
        }
        return active.compactMap { caller in
            guard let limit = caller.subscriber.request.maximumByteCount, limit < count else { return nil }
            return (caller.number, limit)
        }
    }

    /// Those whose time is up at the end of a delay that begins now.
    func late(after delay: Duration, at now: Duration) -> [(number: Int, clock: DeadlineClock)] {
        active.compactMap { caller in
            guard let clock = caller.subscriber.deadline, let left = clock.timeLeft(at: now), left <= delay else {
                return nil
            }
            return (caller.number, clock)
        }
    }

    /// The time that is left to a subscriber; nil without a deadline, in a pause, and after its end.
    func timeLeft(of number: Int, at now: Duration) -> Duration? {
        guard let subscriber = all[number], subscriber.outcome == nil else { return nil }
        return subscriber.deadline?.timeLeft(at: now)
    }

    /// One more looks on at a subscriber.
    mutating func addObserver(_ number: Int) {
        hasObservers = true
        changed.append(number)
    }

    /// Those whose state may have changed since the last call.
    mutating func takeChanged() -> [Int] {
        defer { changed = [] }
        return changed
    }

    /// A number that nothing else of this transfer has.
    mutating func newNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// Adds a subscriber; its first mailbox collects from now on, and its time counts unless it is paused.
    mutating func add(
        _ request: DownloadRequest, _ terms: SubscriberTerms = SubscriberTerms(), isPaused: Bool = false,
        at now: Duration = .zero
    ) -> Int {
        let number = newNumber()
        if request.destination != .memory { wantsFile = true }
        if let checksum = request.checksum {
            algorithms.insert(checksum.algorithm)
        } else {
            isAnyUnchecked = true
        }
        all[number] = Subscriber(request: request, terms: terms, firstBuffer: newNumber())
        order.append(number)
        activeCount += 1
        if request.refreshURL != nil { refreshableCount += 1 }
        priorities.insert(request.priority)
        byteLimits.insert(request.maximumByteCount)
        idleTimeouts.insert(terms.idleTimeout)
        retryPolicies.insert(terms.retryPolicy)
        all[number]?.deadline?.start(at: now)
        if isPaused { _ = setPaused(true, number, at: now) }
        return number
    }

    /// Pauses or resumes for one subscriber; false where nothing changes.
    mutating func setPaused(_ isPaused: Bool, _ number: Int, at now: Duration) -> Bool {
        guard let subscriber = all[number], subscriber.outcome == nil, subscriber.isPaused != isPaused else {
            return false
        }
        pausedCount += isPaused ? 1 : -1
        changed.append(number)
        all[number]?.isPaused = isPaused
        if isPaused {
            all[number]?.deadline?.stop(at: now)
        } else {
            all[number]?.deadline?.start(at: now)
        }
        return true
    }

    /// Gives one subscriber its outcome, which is final.
    mutating func end(_ number: Int, _ outcome: Outcome) -> [DeferredEffect] {
        guard let subscriber = all[number], subscriber.outcome == nil else { return [] }
        activeCount -= 1
        changed.append(number)
        if subscriber.isPaused { pausedCount -= 1 }
        if subscriber.request.refreshURL != nil { refreshableCount -= 1 }
        priorities.remove(subscriber.request.priority)
        byteLimits.remove(subscriber.request.maximumByteCount)
        idleTimeouts.remove(subscriber.terms.idleTimeout)
        retryPolicies.remove(subscriber.terms.retryPolicy)
        lastToLeave = (number, subscriber.request)
        let effects = all[number]?.end(outcome) ?? []
        forgetIfPossible(number)
        if order.count > 2 * activeCount + 16 { order.removeAll { all[$0].map { $0.outcome != nil } ?? true } }
        return effects
    }

    /// Changes one subscriber's record; it is forgotten when nothing can ask for it any more.
    mutating func update<Value>(_ number: Int, _ body: (inout Subscriber) -> Value) -> Value? {
        guard let index = all.index(forKey: number) else { return nil }
        // In place, since changing a copy would copy its mailboxes.
        let value = body(&all.values[index])
        forgetIfPossible(number)
        return value
    }

    private mutating func forgetIfPossible(_ number: Int) {
        if all[number]?.isForgettable == true { all[number] = nil }
    }

    /// Tells everyone who waits; the paused hear no progress.
    mutating func emit(_ event: DownloadEvent) -> [DeferredEffect] {
        var effects: [DeferredEffect] = []
        for number in order {
            guard let subscriber = all[number], subscriber.outcome == nil else { continue }
            if subscriber.isPaused, case .progress = event { continue }
            effects += update(number) { $0.emit(event) } ?? []
        }
        return effects
    }

    /// Tells everyone who waits and has paused.
    mutating func emitToPaused(_ event: DownloadEvent) -> [DeferredEffect] {
        guard pausedCount > 0 else { return [] }
        return active.filter(\.subscriber.isPaused).flatMap { caller in
            update(caller.number) { $0.emit(event) } ?? []
        }
    }

    /// Ends it for everyone who waits.
    mutating func end(_ ending: TransferEnding) -> [DeferredEffect] {
        var effects: [DeferredEffect] = []
        for (number, subscriber) in active {
            let outcome: Outcome
            switch ending {
            case .finished(let results):
                outcome = results[number] ?? .failure(DownloadError(.storageFailure, "the file was not placed"))
            case .failed(let error):
                outcome = .failure(error)
            case .abandoned, .discarded:
                outcome = .failure(DownloadError(.cancelled))
            }
            effects += end(number, outcome.concerning(subscriber.request.url))
        }
        return effects
    }

    /// The timers of all deadlines, which go off no more.
    mutating func takeDeadlineTimers() -> [any ScheduledAction] {
        order.compactMap { all[$0]?.deadlineTimer == nil ? nil : all[$0]?.takeDeadlineTimer() }
    }

    /// The paths that are reserved for those who wait, which give them up.
    mutating func takeReservedPaths() -> [String] {
        order.compactMap { all[$0]?.reservedPath == nil ? nil : all[$0]?.takeReservedPath() }
    }
}

extension Result where Failure == DownloadError {
    /// The same, with the URL that the caller asked for in the error.
    func concerning(_ url: URL) -> Self {
        mapError { error in
            var error = error
            error.url = url
            return error
        }
    }
}
