/// A limit on the number of bytes that one or all transfers of a downloader receive per second.
///
/// Bytes are counted as they arrive, for every exchange. After each part, an exchange waits at a gate until its next
/// part is due (``BandwidthPace``).
final class BandwidthLimiter: Sendable {
    private struct Waiter {
        var due: Duration
        var timer: (any ScheduledAction)?
        let gate: Gate
    }

    private struct State {
        var pace: BandwidthPace
        var waiters: [Int: Waiter] = [:]
        var lastNumber = 0
        var receivedCount: Int64 = 0
    }

    /// The number of parts in which the bytes of a second arrive.
    private static let partsPerSecond: Int64 = 20
    private static let partLengths: ClosedRange<Int64> = 1 << 10...256 << 10

    private let time: any TimeSource
    private let state: Mutex<State>

    /// Creates a limiter.
    ///
    /// - Parameter limit: The number of bytes per second; nil for no limit.
    init(limit: Int64?, time: any TimeSource) {
        self.time = time
        state = Mutex(State(pace: BandwidthPace(limit: limit)))
    }

    /// The number of bytes per second; nil for no limit.
    ///
    /// A change applies to waiting exchanges as well.
    var limit: Int64? {
        get { state.withLock { $0.pace.limit } }
        set {
            let now = time.now
            let timers = state.withLock { state in
                let adjust = state.pace.setLimit(newValue, at: now)
                let timers = state.waiters.values.compactMap(\.timer)
                state.waiters = state.waiters.mapValues { Waiter(due: adjust($0.due), gate: $0.gate) }
                return timers
            }
            for timer in timers { timer.cancel() }
            for number in state.withLock({ Array($0.waiters.keys) }) { schedule(number) }
        }
    }

    /// The number of bytes after which an exchange should wait; nil without a limit.
    var longestPart: Int? {
        limit.map { Int(min(max($0 / Self.partsPerSecond, Self.partLengths.lowerBound), Self.partLengths.upperBound)) }
    }

    /// The number of bytes that have arrived.
    var receivedCount: Int64 { state.withLock { $0.receivedCount } }

    /// Whether the limit is currently holding bytes back.
    var isLimiting: Bool {
        let now = time.now
        return state.withLock { !$0.waiters.isEmpty || $0.pace.isLimiting(at: now) }
    }

    /// Counts bytes that have arrived, and returns a gate that opens when more bytes may arrive.
    ///
    /// The result is nil if more bytes may arrive immediately.
    func received(_ count: Int) -> Gate? {
        let now = time.now
        let waiter = state.withLock { state -> (number: Int, gate: Gate)? in
            state.receivedCount += Int64(count)
            guard let due = state.pace.reserve(count, at: now) else { return nil }
            state.lastNumber += 1
            let gate = Gate()
            state.waiters[state.lastNumber] = Waiter(due: due, gate: gate)
            return (state.lastNumber, gate)
        }
        guard let waiter else { return nil }
        schedule(waiter.number)
        return waiter.gate
    }

    /// Schedules the opening of a waiter's gate.
    private func schedule(_ number: Int) {
        guard let due = state.withLock({ $0.waiters[number]?.due }) else { return }
        let timer = time.schedule(after: max(due - time.now, .zero)) { [weak self] in self?.open(number) }
        let surplus = state.withLock { state -> (any ScheduledAction)? in
            // This timer has already fired, or another change of the limit has replaced the due time.
            guard state.waiters[number]?.due == due else { return timer }
            defer { state.waiters[number]?.timer = timer }
            return state.waiters[number]?.timer
        }
        surplus?.cancel()
    }

    private func open(_ number: Int) {
        let gate = state.withLock { state -> Gate? in
            guard let waiter = state.waiters[number], waiter.due <= time.now else { return nil }
            state.waiters[number] = nil
            return waiter.gate
        }
        gate?.open()
    }
}

/// The times at which bytes may be received to keep a limit in bytes per second.
///
/// Bytes are due in the order in which they are reserved, regardless of their transfer. Transfers that receive parts of
/// the same length therefore have equal shares.
struct BandwidthPace: Sendable {
    /// The maximum delay for which later bytes may compensate.
    ///
    /// Without this credit, each late timer would lower the rate. With more, a burst would follow a pause of the
    /// server.
    static let credit = Duration.milliseconds(100)

    /// The number of bytes per second, at least 1; nil for no limit.
    private(set) var limit: Int64?
    /// The time at which all reserved bytes are due.
    private var end = Duration.zero - credit

    init(limit: Int64?) {
        self.limit = limit.map { max($0, 1) }
    }

    /// Returns the time at which more bytes may be received after `count` bytes that have arrived now.
    ///
    /// The result is nil if more bytes may be received immediately.
    mutating func reserve(_ count: Int, at now: Duration) -> Duration? {
        guard let limit else { return nil }
        end = max(end, now - Self.credit) + .seconds(count) / limit
        return end > now ? end : nil
    }

    /// Returns whether bytes that arrive now have to wait.
    func isLimiting(at now: Duration) -> Bool { limit != nil && end > now }

    /// Changes the limit, and returns a function that adjusts times that were returned earlier.
    mutating func setLimit(_ new: Int64?, at now: Duration) -> (_ due: Duration) -> Duration {
        let old = limit
        limit = new.map { max($0, 1) }
        guard let old, let limit else {
            end = now
            return { _ in now }
        }
        let adjust: (Duration) -> Duration = { due in due > now ? now + (due - now) * old / limit : due }
        end = adjust(end)
        return adjust
    }
}
