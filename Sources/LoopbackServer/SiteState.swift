internal import NIOCore

/// The resources, the recorded requests, the exchanges in progress, and the waiters.
///
/// Its methods have no side effects: they return the continuations and promises that the caller completes outside the
/// lock.
struct SiteState {
    /// A condition for which a waiter waits.
    enum Condition: Equatable {
        /// At least this number of requests for the path have arrived.
        case requests(Int)
        /// At least this number of body bytes were written to sockets in responses at the path.
        case sent(Int64)
        /// No exchange at the path is in progress.
        case idle
    }

    typealias Hold = EventLoopPromise<Void>

    private struct Served {
        var resource: Resource
        var answered = 0
        /// The start of the period of the request limit, and the number of requests that were accepted in it.
        var period: (start: Duration, count: Int)?

        /// Counts a request at this time, and returns the rest of the period if it is beyond the limit.
        mutating func restOfPeriod(at time: Duration) -> Duration? {
            guard let limit = resource.requestLimit else { return nil }
            var period = self.period ?? (time, 0)
            if time >= period.start + limit.period { period = (time, 0) }
            if period.count >= limit.count { return period.start + limit.period - time }
            self.period = (period.start, period.count + 1)
            return nil
        }
    }

    /// An exchange in progress.
    private struct Exchange {
        var path: String
        var hold: Hold?
        /// Whether the exchange was released before its next hold.
        var isReleased = false
    }

    private struct Waiter {
        var number: Int
        var path: String
        var condition: Condition
        var continuation: CheckedContinuation<Void, Never>
    }

    private(set) var requests: [RecordedRequest] = []
    private let keepsRequests: Bool
    private var requestCount = 0
    private var connections = 0
    private var waits = 0
    private var isClosed = false
    private var served: [String: Served] = [:]
    private var bodyBytes: [String: Int64] = [:]
    private var exchanges: [Int: Exchange] = [:]
    private var waiters: [Waiter] = []

    init(keepsRequests: Bool = true) {
        self.keepsRequests = keepsRequests
    }

    func requests(at path: String) -> [RecordedRequest] {
        requests.filter { $0.path == path }
    }

    func bodyBytesSent(at path: String) -> Int64 {
        bodyBytes[path] ?? 0
    }

    mutating func serve(_ resource: Resource, at path: String) {
        served[path] = Served(resource: resource)
    }

    mutating func addConnection() -> Int {
        connections += 1
        return connections
    }

    mutating func addBodyBytes(_ count: Int, at path: String) -> [CheckedContinuation<Void, Never>] {
        bodyBytes[path, default: 0] += Int64(count)
        return takeSatisfiedWaiters(at: path)
    }

    /// Records the request and plans the response; the returned number identifies the exchange.
    ///
    /// - Parameter time: The time on a clock that is never set.
    mutating func begin(
        _ request: RequestHead, connection: Int, now: HTTPDate, time: Duration = .zero
    ) -> (number: Int, plan: ResponsePlan, waiters: [CheckedContinuation<Void, Never>]) {
        let rest = served[request.path]?.restOfPeriod(at: time)
        let step = rest.map(Self.refusal) ?? takeStep(at: request.path)
        let plan = ResponsePlan(for: request, of: served[request.path]?.resource, step: step, now: now)
        requestCount += 1
        let number = requestCount
        if keepsRequests {
            requests.append(
                RecordedRequest(
                    number: number, connection: connection, method: request.method, path: request.path,
                    query: request.query, headers: request.headers, status: plan.status))
        }
        exchanges[number] = Exchange(path: request.path)
        return (number, plan, takeSatisfiedWaiters(at: request.path))
    }

    private static func refusal(_ rest: Duration) -> Step {
        let seconds = rest.components.seconds + (rest.components.attoseconds > 0 ? 1 : 0)
        return [.retryAfter("\(seconds)", status: 429)]
    }

    private mutating func takeStep(at path: String) -> Step {
        guard var entry = served[path] else { return .plain }
        let script = entry.resource.script
        let last = entry.resource.repeatsLastStep ? script.last : nil
        let step = entry.answered < script.count ? script[entry.answered] : last ?? .plain
        entry.answered += 1
        for case .replaceContent(let content, let entityTag, let lastModified) in step.faults {
            entry.resource.body = .content(content)
            entry.resource.entityTag = entityTag
            entry.resource.lastModified = lastModified
        }
        served[path] = entry
        return step
    }

    /// Stores a hold, which a release completes and the end of the exchange fails.
    ///
    /// Returns the hold if the exchange was released before.
    mutating func hold(_ number: Int, _ hold: Hold) -> Hold? {
        if exchanges[number]?.isReleased == true {
            exchanges[number]?.isReleased = false
            return hold
        }
        exchanges[number]?.hold = hold
        return nil
    }

    mutating func release(_ path: String) -> [Hold] {
        var holds: [Hold] = []
        for (number, exchange) in exchanges where exchange.path == path {
            if let hold = exchange.hold { holds.append(hold) }
            exchanges[number]?.isReleased = exchange.hold == nil
            exchanges[number]?.hold = nil
        }
        return holds
    }

    mutating func end(_ number: Int) -> (hold: Hold?, waiters: [CheckedContinuation<Void, Never>]) {
        guard let exchange = exchanges.removeValue(forKey: number) else { return (nil, []) }
        return (exchange.hold, takeSatisfiedWaiters(at: exchange.path))
    }

    /// Returns the number of a new wait, which a cancellation can use before the wait starts.
    mutating func addWait() -> Int {
        waits += 1
        return waits
    }

    /// Stores a waiter's continuation, or returns it if the condition holds or the site is closed.
    mutating func wait(
        _ number: Int, for condition: Condition, at path: String, _ continuation: CheckedContinuation<Void, Never>
    ) -> CheckedContinuation<Void, Never>? {
        if isClosed || isSatisfied(condition, at: path) { return continuation }
        waiters.append(Waiter(number: number, path: path, condition: condition, continuation: continuation))
        return nil
    }

    mutating func cancelWaiter(_ number: Int) -> CheckedContinuation<Void, Never>? {
        guard let index = waiters.firstIndex(where: { $0.number == number }) else { return nil }
        return waiters.remove(at: index).continuation
    }

    /// Ends all present and future waits; returns the continuations of the present ones.
    mutating func close() -> [CheckedContinuation<Void, Never>] {
        isClosed = true
        defer { waiters = [] }
        return waiters.map(\.continuation)
    }

    private mutating func takeSatisfiedWaiters(at path: String) -> [CheckedContinuation<Void, Never>] {
        guard waiters.contains(where: { $0.path == path }) else { return [] }
        let satisfied = waiters.filter { $0.path == path && isSatisfied($0.condition, at: path) }
        waiters.removeAll { waiter in satisfied.contains { $0.number == waiter.number } }
        return satisfied.map(\.continuation)
    }

    private func isSatisfied(_ condition: Condition, at path: String) -> Bool {
        switch condition {
        case .requests(let count): requests(at: path).count >= count
        case .sent(let count): bodyBytesSent(at: path) >= count
        case .idle: !exchanges.values.contains { $0.path == path }
        }
    }
}
