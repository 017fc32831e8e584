internal import Foundation

/// The callers of one transfer: what each asked for, what it still has to hear, and how it ended for it.
///
/// A value without effects: whoever is to be woken is returned, to be called when no lock is held.
struct Subscribers: Sendable {
    typealias Outcome = Result<DownloadedFile, DownloadError>

    /// One caller, that is, one handle.
    struct Subscriber: Sendable {
        let request: DownloadRequest
        var isPaused = false
        /// Whether the handle is still there.
        var isHeld = true
        var outcome: Outcome?
        var mailboxes: [Int: Mailbox]
        /// The state that onlookers were woken for last.
        var shownState: Download.State?
        var waiters: [Int: CheckedContinuation<Outcome, Never>] = [:]

        init(request: DownloadRequest, firstMailbox: Int) {
            self.request = request
            mailboxes = [firstMailbox: Mailbox()]
        }

        /// Whether anybody listens or awaits, onlookers not counted.
        var hasConsumers: Bool {
            !waiters.isEmpty || mailboxes.values.contains { $0.isClaimed && !$0.isOnlooker }
        }

        mutating func tell(_ event: DownloadEvent) -> [Wakeup] {
            var wakeups: [Wakeup] = []
            for id in mailboxes.keys { wakeups += mailboxes[id]?.put(event) ?? [] }
            return wakeups
        }

        /// Wakes those who look on when the state has changed, since not every change is an event.
        mutating func show(_ state: Download.State, _ progress: DownloadProgress) -> [Wakeup] {
            guard state != shownState else { return [] }
            shownState = state
            var wakeups: [Wakeup] = []
            for (id, mailbox) in mailboxes where mailbox.isOnlooker {
                wakeups += mailboxes[id]?.put(.progress(progress)) ?? []
            }
            return wakeups
        }

        mutating func end(_ outcome: Outcome) -> [Wakeup] {
            guard self.outcome == nil else { return [] }
            self.outcome = outcome
            var wakeups: [Wakeup] = []
            for id in mailboxes.keys {
                switch outcome {
                case .success(let file):
                    wakeups += mailboxes[id]?.put(.finished(file)) ?? []
                    wakeups += mailboxes[id]?.finish(nil) ?? []
                case .failure(let error):
                    wakeups += mailboxes[id]?.finish(error) ?? []
                }
            }
            for waiter in waiters.values { wakeups.append(Wakeup { waiter.resume(returning: outcome) }) }
            waiters = [:]
            return wakeups
        }
    }

    private(set) var all: [Int: Subscriber] = [:]
    /// The algorithms of the checksums that callers gave, of those who have left since too.
    private(set) var algorithms: Set<Checksum.Algorithm> = []
    /// Whether a caller gave no checksum, so that the server's has to do.
    private(set) var isAnyUnchecked = false
    /// Whether a caller wanted a file, or has since he left.
    private(set) var wantsFile = false
    /// Whether anybody has looked on.
    var hasOnlookers = false
    /// The limits that callers set; nil stands for one without.
    private var limits: Set<Int64?> = []
    private var lastNumber = 0

    /// Those whose outcome is open, in the order in which they came.
    var attached: [(number: Int, subscriber: Subscriber)] {
        all.filter { $0.value.outcome == nil }.sorted { $0.key < $1.key }.map { (number: $0.key, subscriber: $0.value) }
    }

    /// Whether nobody waits for the file any more.
    var isEmpty: Bool { !all.values.contains { $0.outcome == nil } }

    /// Whether everyone who waits for the file has paused.
    var arePaused: Bool { !isEmpty && all.values.allSatisfy { $0.outcome != nil || $0.isPaused } }

    /// The most urgent priority of those who wait.
    var priority: DownloadRequest.Priority {
        all.values.filter { $0.outcome == nil }.map(\.request.priority).max() ?? .low
    }

    /// Whether anybody who waits can be asked for a fresh URL.
    var canRefreshURL: Bool { all.values.contains { $0.outcome == nil && $0.request.refreshURL != nil } }

    /// The most bytes that anybody who waits accepts; nil for any number.
    var byteLimit: Int64? {
        if limits.count == 1, let only = limits.first { return only }
        return attached.reduce(Int64?.some(0)) { most, caller in
            guard let most, let limit = caller.subscriber.request.maximumByteCount else { return nil }
            return max(most, limit)
        }
    }

    /// Those who wait and accept less than `count` bytes, where others accept more.
    func oversized(_ count: Int64) -> [(number: Int, limit: Int64)] {
        guard limits.count > 1 else { return [] }
        return attached.compactMap { caller in
            guard let limit = caller.subscriber.request.maximumByteCount, limit < count else { return nil }
            return (caller.number, limit)
        }
    }

    /// A number that nothing else of this transfer has.
    mutating func newNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// Adds a caller; its first mailbox collects from now on.
    mutating func add(_ request: DownloadRequest) -> Int {
        let number = newNumber()
        if request.destination != .memory { wantsFile = true }
        limits.insert(request.maximumByteCount)
        if let checksum = request.checksum {
            algorithms.insert(checksum.algorithm)
        } else {
            isAnyUnchecked = true
        }
        all[number] = Subscriber(request: request, firstMailbox: newNumber())
        return number
    }

    /// Changes one caller's record.
    mutating func update<Value>(_ number: Int, _ body: (inout Subscriber) -> Value) -> Value? {
        guard var subscriber = all[number] else { return nil }
        defer { all[number] = subscriber }
        return body(&subscriber)
    }

    /// Tells everyone who waits; the paused hear no progress.
    mutating func tell(_ event: DownloadEvent) -> [Wakeup] {
        var wakeups: [Wakeup] = []
        for (number, subscriber) in attached {
            if subscriber.isPaused, case .progress = event { continue }
            wakeups += update(number) { $0.tell(event) } ?? []
        }
        return wakeups
    }

    /// Tells everyone who waits and has paused.
    mutating func tellPaused(_ event: DownloadEvent) -> [Wakeup] {
        attached.filter(\.subscriber.isPaused).flatMap { caller in update(caller.number) { $0.tell(event) } ?? [] }
    }

    /// Ends it for everyone who waits.
    mutating func end(_ ending: TransferEnding) -> [Wakeup] {
        var wakeups: [Wakeup] = []
        for (number, subscriber) in attached {
            let outcome: Outcome
            switch ending {
            case .finished(let results):
                outcome = results[number] ?? .failure(DownloadError(.storageFailure, "the file was not placed"))
            case .failed(let error):
                outcome = .failure(error)
            case .parked, .discarded:
                outcome = .failure(DownloadError(.cancelled))
            }
            wakeups += update(number) { $0.end(outcome.concerning(subscriber.request.url)) } ?? []
        }
        return wakeups
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
