internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The state of one origin: cool-downs, and the time in which it can't be reached.
@Suite(.endsWhenHung)
struct OriginStateTests {
    var state = OriginState(hasAnswered: false, hasAccepted: false)
    var lastNumber = 0
    static let resource = ResourceID(.sample("https://a.example/resource"))
    let tickets = (1...9).map { PermitQueue.Ticket(number: $0, slot: Int32($0)) }

    /// Sends a request, and returns its number.
    mutating func send(_ ticket: Int = 0, at seconds: Int = 0) -> Int {
        state.permitted(tickets[ticket], at: .seconds(seconds))
        state.pace.reserve(lastNumber, at: .seconds(seconds))
        lastNumber += 1
        state.began(lastNumber, tickets[ticket], at: .seconds(seconds))
        return lastNumber
    }

    @discardableResult
    mutating func answer(
        _ number: Int, _ answer: RequestAnswer, of ticket: Int = 0, isServing: Bool = false, at seconds: Int = 0
    ) -> OriginState.Consequence {
        state.answered(
            number, answer, of: tickets[ticket],
            .init(
                patience: .seconds(30), lastNumber: lastNumber, isServing: isServing, jitter: 1, now: .seconds(seconds))
        )
    }

    func nextTime(at seconds: Int, hasImpatient: Bool = false) -> Duration? {
        state.nextTime(hasImpatient: hasImpatient, at: .seconds(seconds))
    }

    static let unreachable = RequestAnswer.unreachable(DownloadError(.cannotConnect), .default)

    // MARK: Cool-downs

    @Test mutating func `rule 37: no request is sent before the latest end of a cool-down`() {
        let numbers = (0..<3).map { _ in send() }
        let consequence = answer(numbers[0], .refused(retryAfter: .seconds(10)), at: 1)
        #expect(consequence.isRefusal)
        answer(numbers[1], .refused(retryAfter: .seconds(5)), at: 2)
        answer(numbers[2], .accepted(), at: 3)
        #expect(nextTime(at: 3) == .seconds(11))
        #expect(state.hindrance(at: .seconds(3)) == .coolDown(end: .seconds(11)))
        #expect(nextTime(at: 11) == nil)
        #expect(state.hindrance(at: .seconds(11)) == nil)
    }

    @Test mutating func `rule 37: after a 503 with Retry-After, one request of another resource is sent`() {
        let first = send()
        let consequence = answer(first, .refused(retryAfter: .seconds(30), of: Self.resource))
        #expect(!consequence.isRefusal)
        #expect(nextTime(at: 1) == nil)
        #expect(state.refusedResources.end(of: Self.resource, at: .seconds(1)) == .seconds(30))
        let probe = send(1, at: 1)
        #expect(nextTime(at: 1) == .seconds(30))
        answer(probe, .accepted(), at: 2)
        #expect(nextTime(at: 2) == nil)
        #expect(state.refusedResources.end(of: Self.resource, at: .seconds(2)) == .seconds(30))
        #expect(state.refusedResources.end(of: Self.resource, at: .seconds(30)) == nil)
        _ = send(2, at: 2)
        #expect(nextTime(at: 2) == nil)
    }

    @Test mutating func `rule 37: a refusal of that request starts a cool-down`() {
        let numbers = (0..<2).map { send($0) }
        answer(numbers[0], .refused(retryAfter: .seconds(30), of: Self.resource))
        let probe = send(2, at: 1)
        // The other one was sent before the first refusal was known.
        answer(numbers[1], .refused(retryAfter: .seconds(30), of: Self.resource), at: 1)
        #expect(state.hindrance(at: .seconds(1)) == nil)
        let consequence = answer(probe, .refused(retryAfter: .seconds(30), of: Self.resource), at: 2)
        #expect(consequence.isRefusal)
        #expect(nextTime(at: 3) == .seconds(32))
    }

    @Test(arguments: [RequestAnswer.failed(of: resource), .lost, .reset(.default, of: resource), .nothing])
    mutating func `a request that shows nothing about a 503 is followed by another one`(_ other: RequestAnswer) {
        answer(send(), .refused(retryAfter: .seconds(30), of: Self.resource))
        answer(send(1, at: 1), other, at: 2)
        #expect(nextTime(at: 2) == nil)
        _ = send(2, at: 2)
        #expect(nextTime(at: 2) == .seconds(30))
    }

    @Test mutating func `a permit whose request isn't sent leaves the place to another one`() {
        answer(send(), .refused(retryAfter: .seconds(30), of: Self.resource))
        state.permitted(tickets[1], at: .seconds(1))
        #expect(nextTime(at: 1) == .seconds(30))
        #expect(state.mayBegin(tickets[1], at: .seconds(1)))
        #expect(!state.mayBegin(tickets[2], at: .seconds(1)))
        #expect(!state.mayBeginExtra(isAlone: true, at: .seconds(1)))
        let isOther = state.withdrawn(tickets[2])
        #expect(!isOther)
        let isProbe = state.withdrawn(tickets[1])
        #expect(isProbe)
        #expect(nextTime(at: 1) == nil)
        #expect(state.mayBeginExtra(isAlone: true, at: .seconds(1)), "no transfer may be waiting")
        #expect(!state.mayBeginExtra(isAlone: false, at: .seconds(1)))
    }

    @Test mutating func `rule 37: after a redirect within the origin, the request to the target is the probe`() {
        answer(send(), .refused(retryAfter: .seconds(30), of: Self.resource))
        answer(send(1, at: 1), .redirected, of: 1, at: 1)
        #expect(state.mayBegin(tickets[1], at: .seconds(1)))
        #expect(nextTime(at: 1) == .seconds(30))
        let other = ResourceID(.sample("https://a.example/other"))
        answer(send(1, at: 1), .refused(retryAfter: .seconds(30), of: other), of: 1, at: 1)
        #expect(state.hindrance(at: .seconds(1)) == .coolDown(end: .seconds(31)))
    }

    @Test mutating func `an extra request shows whether an origin is reachable if no transfer is waiting`() {
        answer(send(), Self.unreachable)
        #expect(!state.mayBeginExtra(isAlone: true, at: .zero))
        #expect(state.mayBeginExtra(isAlone: true, at: .seconds(1)))
    }

    @Test mutating func `rule 37: an origin that always refuses fails the waiting transfers together`() {
        var now = 0
        var limits: [Int] = []
        for _ in 0..<16 {
            limits.append(answer(send(at: now), .refused(retryAfter: .seconds(2)), at: now).failingRetryLimit)
            now += 2
        }
        // The default policy permits five retries after ten refusals.
        #expect(limits.last == 5)
        #expect(limits.dropLast().allSatisfy { $0 < 5 })
        answer(send(at: now), .accepted(), at: now)
        let next = answer(send(at: now), .refused(retryAfter: .seconds(2)), at: now)
        #expect(next.failingRetryLimit < 0)
        for _ in 0..<20 {
            now += 2
            let other = answer(send(at: now), .refused(retryAfter: .seconds(2)), isServing: true, at: now)
            #expect(other.failingRetryLimit < 0, "another transfer is served")
        }
    }

    @Test mutating func `rule 58: only the first of several refusals with a time concerns the number of transfers`() {
        let first = answer(send(), .refused(retryAfter: .seconds(60)))
        // All transfers have respected the time without a permit.
        state.renew(at: .seconds(60))
        let second = answer(send(at: 60), .refused(retryAfter: .seconds(60)), at: 60)
        #expect(first.isRefusal && !second.isRefusal)
    }

    @Test(arguments: [RequestAnswer.refused(retryAfter: .seconds(3)), .accepted(.exhausted(.seconds(3)))])
    mutating func `a 503 during a cool-down of its origin concerns its resource only`(_ first: RequestAnswer) {
        let numbers = (0..<2).map { send($0) }
        answer(numbers[0], first)
        answer(numbers[1], .refused(retryAfter: .seconds(300), of: Self.resource))
        #expect(nextTime(at: 0) == .seconds(3))
        #expect(nextTime(at: 3) == nil)
        #expect(state.refusedResources.end(of: Self.resource, at: .seconds(3)) == .seconds(300))
    }

    @Test mutating func `a 429 to the probe after a 503 states the time of the origin`() {
        answer(send(), .refused(retryAfter: .seconds(300), of: Self.resource))
        answer(send(1, at: 1), .refused(retryAfter: .seconds(2)), at: 1)
        #expect(nextTime(at: 1) == .seconds(3))
    }

    @Test mutating func `the waiting transfers are notified once of each wait that lasts`() {
        // The jitter is 1, so the first delay is a second.
        let isReported = answer(send(), Self.unreachable).notifiesWaiting
        let isReportedAgain = answer(send(at: 1), Self.unreachable, at: 1).notifiesWaiting
        #expect(isReported && !isReportedAgain)
        // The outage ends, and another reason follows.
        #expect(answer(send(at: 3), .refused(retryAfter: .seconds(20)), at: 3).notifiesWaiting)
        let numbers = [send(at: 23), send(at: 23), send(at: 23)]
        #expect(answer(numbers[0], .refused(retryAfter: .seconds(20)), at: 23).notifiesWaiting)
        #expect(!answer(numbers[1], .refused(retryAfter: .seconds(10)), at: 23).notifiesWaiting)
        // The cool-down is extended.
        #expect(answer(numbers[2], .refused(retryAfter: .seconds(40)), at: 23).notifiesWaiting)
        #expect(!answer(send(at: 63), .accepted(), at: 63).notifiesWaiting)
        #expect(answer(send(at: 64), Self.unreachable, at: 64).notifiesWaiting)
    }

    @Test mutating func `an outage is reported after its second failure if the first delay is short`() {
        answer(send(), .accepted())
        let numbers = [send(), send(), send()]
        func jittered(_ number: Int, _ seconds: Int) -> OriginState.Consequence {
            state.answered(
                number, Self.unreachable, of: tickets[0],
                .init(
                    patience: .seconds(30), lastNumber: lastNumber, isServing: false, jitter: 0,
                    now: .seconds(seconds)))
        }
        // The second one was sent before the failure was known.
        let first = [jittered(numbers[0], 0), jittered(numbers[1], 0)].map(\.notifiesWaiting)
        #expect(first == [false, false])
        #expect(jittered(send(at: 1), 1).notifiesWaiting)
        #expect(!jittered(send(at: 2), 2).notifiesWaiting)
    }

    // MARK: Announcements

    @Test(arguments: [nil, RateLimit.Quota.available, .exhausted(.seconds(10))])
    mutating func `an accepted request may announce that no other one is accepted`(_ earlier: RateLimit.Quota?) {
        let numbers = (0..<3).map { _ in send() }
        answer(numbers[1], .accepted(.exhausted(.seconds(20))))
        #expect(nextTime(at: 0) == .seconds(20))
        // It was sent before.
        answer(numbers[0], .accepted(earlier))
        // It was counted before.
        answer(numbers[2], .accepted(.available))
        #expect(nextTime(at: 0) == .seconds(20))
        #expect(nextTime(at: 20) == nil)
    }

    @Test(arguments: [nil, RateLimit.Quota.exhausted(.seconds(20))])
    mutating func `announcements are ignored after a request was accepted nevertheless`(_ quota: RateLimit.Quota?) {
        let numbers = (0..<2).map { _ in send() }
        answer(numbers[0], .accepted(.exhausted(.seconds(20))))
        answer(numbers[1], .accepted(quota))
        #expect(nextTime(at: 0) == nil)
        answer(send(), .accepted(.exhausted(.seconds(20))))
        #expect(nextTime(at: 0) == nil)
        #expect(state.isWorthKeeping(at: .seconds(1000)))
    }
}
