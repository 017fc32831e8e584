/// A queue that decides which transfers may run, and in which order (rule 58); a value without side effects.
///
/// At most `limit` transfers have a permit. Each host limits the number of its running transfers and their configured
/// pace (``HostLimit``), and each origin decides whether requests may be sent at all (``OriginState``). Requests are
/// granted by priority, and within one priority by their place in line; requests to silent origins come last. Every
/// eighth permit goes to the oldest request whose host is below its limit, so that a stream of urgent requests doesn't
/// starve the others. A host at its limit, or an origin that accepts no requests, delays only its own requests.
///
/// A transfer that has all bytes may yield its permit while it verifies and places the file, and the permits of transfers
/// whose origins are silent don't count for other origins. In both cases, another transfer gets a permit only if no more
/// than `openLimit` transfers have open files, not counting up to `silentLimit` transfers of silent origins.
///
/// A permit includes one request to the host. Each additional request requires a call of ``begin(_:_:at:)``.
///
/// Every operation and every single grant takes O(log n) steps for n requests in the queue.
struct PermitQueue: Sendable {
    let limit: Int
    private let openLimit: Int
    private let silentLimit: Int
    var requests = SlotTable<Request>()
    var table: HostTable
    /// The hosts below their limits to which no request may currently be sent, with the end of that time.
    var pausedHosts = Heap<Int32, Duration>()
    /// The origins to which no request may currently be sent, with the end of that time.
    var pausedOrigins = Heap<Int32, Duration>()
    /// The origins with unanswered requests that aren't silent, with the times at which they become silent.
    var silences = Heap<Int32, Duration>()
    /// The requests whose resources are refused, with the end of that time.
    var delayed = Heap<Int32, Duration>()
    /// The first requests in line by priority and by age, one for each host below its limit.
    var urgentHeads = Heap<Int32, Position>()
    var oldestHeads = Heap<Int32, Position>()
    private var lastNumber = 0
    var turn = AgeTurn()
    var jitter: SplitMix64
    /// The time of the last operation that depends on the time.
    var latest = Duration.zero

    /// Whether the queue contains no requests.
    var isEmpty: Bool { requests.count == 0 }

    /// The number of requests that have a permit.
    private(set) var holderCount = 0

    /// The number of requests whose transfers have yielded their permits and still have open files.
    private(set) var finishingCount = 0

    /// The requests that are waiting because their origins are silent, are unreachable, or ask for a delay, as far as the
    /// queue has noticed, and the running ones that a silent origin hasn't answered.
    struct HeldUp: Sendable {
        fileprivate(set) var count = 0
        /// The sum of the absolute changes of the number, and the number of transfers that have begun or ended to wait
        /// for a retry.
        fileprivate(set) var changeCount = 0

        fileprivate mutating func retryChanged() {
            changeCount += 1
        }

        mutating func change(by difference: Int) {
            count += difference
            changeCount += abs(difference)
        }
    }

    var heldUp = HeldUp()

    /// The number of requests that are waiting for a permit.
    var waitingCount: Int { requests.count - holderCount - finishingCount }

    /// The waiting requests whose origins have become silent, and whose transfers haven't been notified.
    var hindered: [Ticket] = []
    /// The number of running requests that silent origins haven't answered; their permits don't count for other origins.
    var silentCount = 0

    /// Whether the limits allow another permit for an origin that isn't silent.
    var hasRoom: Bool {
        let lentCount = limit > 1 ? silentCount : 0
        return holderCount - lentCount < limit
            && holderCount + finishingCount - min(lentCount, silentLimit) < openLimit
    }

    /// Returns the number of requests that have a permit for the host.
    func runningCount(_ host: String) -> Int { table.host(named: host)?.runningCount ?? 0 }

    /// Returns whether a request is waiting for the host, or for any host if all permits are in use.
    func isWaiting(for host: String) -> Bool {
        if !hasRoom, waitingCount > 0 { return true }
        return table.host(named: host).map { $0.waitingCount > 0 } ?? false
    }

    /// The earliest time at which ``grant(at:)`` may grant a permit, or notice that an origin is silent, without another
    /// change of the queue.
    var nextTime: Duration? {
        [pausedHosts.first?.order, pausedOrigins.first?.order, delayed.first?.order, silences.first?.order]
            .compactMap { $0 }.min()
    }

    /// Creates an empty queue; a limit below 1 counts as 1.
    ///
    /// - Parameters:
    ///   - openLimit: The maximum number of transfers with open files. If it is nil or lower than `limit`,
    ///     `limit` is used.
    ///   - silentLimit: The maximum number of transfers that don't count toward `openLimit`, because their origins are
    ///     silent.
    init(limit: Int, openLimit: Int? = nil, silentLimit: Int = 0, _ settings: HostLimit.Settings, seed: UInt64 = 1) {
        self.limit = max(1, limit)
        self.openLimit = max(self.limit, openLimit ?? 0)
        self.silentLimit = silentLimit
        table = HostTable(settings)
        jitter = SplitMix64(seed: seed)
    }

    /// Returns the stage of a request, or nil for a ticket that is not in the queue.
    func stage(of ticket: Ticket) -> Stage? { request(ticket)?.stage }

    /// Returns the reason why the origin of a waiting request currently accepts no requests; nil if it accepts them.
    func hindrance(of ticket: Ticket, at now: Duration) -> OriginState.Hindrance? {
        guard let request = request(ticket), request.stage == .waiting else { return nil }
        if let end = delayed[ticket.slot] { return .coolDown(end: end) }
        return table.origin(request.origin).state.hindrance(at: now)
    }

    /// Adds a request for a permit, which ``grant(at:)`` grants.
    ///
    /// The ticket determines the place in line. A retry keeps the place of its transfer, unless the resource was
    /// refused: the origin may accept requests for other resources, which then go first.
    ///
    /// - Parameters:
    ///   - resource: The resource of the request; nil if it was never refused.
    ///   - place: The first ticket of the transfer; nil if this is the first one.
    ///   - retryLimit: The number of retries that the policy of the transfer permits.
    mutating func enqueue(
        for pair: OriginPair, _ resource: @autoclosure () -> ResourceID? = nil, priority: DownloadRequest.Priority,
        place: Ticket? = nil, retryLimit: Int = 5, at now: Duration? = nil
    ) -> Ticket {
        lastNumber += 1
        if place != nil { heldUp.retryChanged() }
        latest = now ?? latest
        let origin = table.slot(of: pair, at: latest)
        let refused = table.origin(origin).state.refusedResources
        let keepsPlace = !refused.contains(resource())
        let slot = requests.insert(
            Request(
                number: lastNumber, place: keepsPlace ? place?.number ?? lastNumber : lastNumber, origin: origin,
                rank: priority.rank, retryLimit: retryLimit))
        if let end = refused.end(of: resource(), at: latest) {
            delay(slot, until: end)
        } else {
            lineUp(slot)
        }
        return Ticket(number: lastNumber, slot: slot)
    }

    /// Changes the priority of a waiting request, and, unless it is nil, the number of retries of its transfer.
    mutating func setPriority(_ priority: DownloadRequest.Priority, retryLimit: Int? = nil, of ticket: Ticket) {
        guard let request = request(ticket), request.stage == .waiting else { return }
        if !request.isDelayed { leaveLine(ticket.slot) }
        requests.update(ticket.slot) { request in
            request.rank = priority.rank
            request.retryLimit = retryLimit ?? request.retryLimit
        }
        if !request.isDelayed { lineUp(ticket.slot) }
    }

    /// Moves a permit to another origin if a request may be sent to it now; otherwise releases the permit.
    ///
    /// - Returns: Whether the ticket still has a permit.
    mutating func move(_ ticket: Ticket, to pair: OriginPair, at now: Duration) -> Bool {
        latest = now
        guard let request = request(ticket), request.stage == .running else { return false }
        guard table.origin(request.origin).pair != pair else { return true }
        let slot = table.slot(of: pair, at: now)
        let (origin, isSameHost) = (table.origin(slot), table.origin(request.origin).host == table.origin(slot).host)
        let host = table.host(origin.host)
        guard origin.state.nextTime(hasImpatient: !request.isPatient, at: now) == nil,
            isSameHost
                || host.isBelowLimit(ownSilentCount: origin.silentCount)
                    && host.limit.nextTime(at: now) == nil
        else {
            changed(slot)
            release(ticket)
            return false
        }
        // The permit is entered first, because an origin without requests would be removed.
        enter(ticket, slot, at: now)
        if !isSameHost || request.isReserved { table.reserve(slot, countsForHost: !isSameHost, at: now) }
        leave(ticket, request, staysAtHost: isSameHost)
        requests.update(ticket.slot) { moved in
            moved.origin = slot
            moved.reservation = isSameHost ? request.reservation : now
            moved.isAccepted = false
        }
        changed(slot)
        return true
    }

    /// Makes a permit available to another transfer, because its transfer no longer needs the host but still has open
    /// files.
    mutating func yield(_ ticket: Ticket) {
        guard let request = request(ticket), request.stage == .running else { return }
        holderCount -= 1
        finishingCount += 1
        leave(ticket, request)
        requests.update(ticket.slot) { $0.stage = .finishing }
    }

    /// Releases a permit or removes a waiting request; unknown tickets are ignored.
    ///
    /// - Parameter isRetried: Whether the transfer waits for a retry.
    mutating func release(_ ticket: Ticket, isRetried: Bool = false) {
        guard let request = request(ticket) else { return }
        switch request.stage {
        case .waiting:
            if request.isDelayed { endDelay(ticket.slot) } else { leaveLine(ticket.slot) }
            changed(request.origin)
        case .running:
            holderCount -= 1
            if isRetried { heldUp.retryChanged() }
            leave(ticket, request)
        case .finishing:
            finishingCount -= 1
        }
        requests.remove(at: ticket.slot)
    }

    /// Grants all permits that are currently available, and returns their tickets in the order of the grants.
    mutating func grant(at now: Duration) -> [Ticket] {
        latest = now
        var granted: [Ticket] = []
        while let (host, time) = pausedHosts.first, time <= now {
            pausedHosts[host] = nil
            hostChanged(host)
        }
        while let (origin, time) = pausedOrigins.first, time <= now { unblock(origin) }
        while let (slot, time) = delayed.first, time <= now {
            endDelay(slot)
            lineUp(slot)
            // Its origin may have begun to ask for a longer time.
            hindered.append(Ticket(number: requests[slot].number, slot: slot))
        }
        while let (origin, time) = silences.first, time <= now {
            table.updateOrigin(origin) { $0.state.silence.begin() }
            hindered += waiting(origin, retryLimit: .max)
            changed(origin)
        }
        while hasRoom, let slot = next(at: now) {
            run(slot, at: now)
            granted.append(Ticket(number: requests[slot].number, slot: slot))
        }
        return granted
    }

    func request(_ ticket: Ticket) -> Request? {
        guard let request = requests.element(in: ticket.slot), request.number == ticket.number else { return nil }
        return request
    }

    private mutating func run(_ slot: Int32, at now: Duration) {
        let (request, host) = (requests[slot], table.origin(requests[slot].origin).host)
        let (isOldest, silentCount) = (oldest(ofHost: host) == slot, table.origin(request.origin).silentCount)
        holderCount += 1
        turn.granted()
        leaveLine(slot)
        enter(Ticket(number: request.number, slot: slot), request.origin, at: now)
        table.reserve(request.origin, countsForHost: true, at: now)
        table.updateHost(host) { host in
            if isOldest {
                host.passedOver = 0
            } else if !host.isBelowLimit(ownSilentCount: silentCount) {
                host.passedOver += 1
            }
        }
        requests.update(slot) { ($0.stage, $0.reservation, $0.isAccepted) = (.running, now, false) }
        changed(request.origin)
    }
}
