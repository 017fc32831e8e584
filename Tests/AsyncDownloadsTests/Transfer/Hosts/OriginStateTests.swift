internal import Foundation
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
        _ number: Int, _ answer: RequestAnswer, isServing: Bool = false, at seconds: Int = 0
    ) -> OriginState.Consequence {
        state.answered(
            number, answer,
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
        #expect(!state.mayBeginExtra(at: .seconds(1)))
        let isOther = state.withdrawn(tickets[2])
        #expect(!isOther)
        let isProbe = state.withdrawn(tickets[1])
        #expect(isProbe)
        #expect(nextTime(at: 1) == nil)
    }

    private static func resource(_ number: Int) -> ResourceID {
        ResourceID(URL.sample("https://a.example/").appending(path: "\(number)"))
    }

    @Test(arguments: [true, false])
    mutating func `rule 37: eight resources in a row that are refused or fail start a cool-down`(isRefusal: Bool) {
        func reply(_ number: Int) -> RequestAnswer {
            isRefusal ? .refused(retryAfter: nil, of: Self.resource(number)) : .failed(of: Self.resource(number))
        }
        for _ in 0..<7 { answer(send(), reply(0)) }
        #expect(state.refusedResources.contains(Self.resource(0)))
        for _ in 0..<20 { answer(send(), .accepted()) }
        for number in 1..<7 { answer(send(), reply(number)) }
        for _ in 0..<40 { answer(send(), .accepted()) }
        for number in 10..<17 { answer(send(), reply(number)) }
        #expect(nextTime(at: 0) == nil)
        let consequence = answer(send(), reply(17))
        #expect(!consequence.isRefusal)
        #expect(state.hindrance(at: .zero) == .coolDown(end: .milliseconds(250)))
        answer(send(at: 1), reply(17), at: 1)
        #expect(nextTime(at: 1) == .milliseconds(1250))
        for _ in 0..<20 { answer(send(at: 2), .accepted(), at: 2) }
        answer(send(at: 2), reply(17), at: 2)
        #expect(nextTime(at: 2) == nil)
    }

    @Test mutating func `rule 37: the transfers of an origin that has accepted no request for long fail together`() {
        func refuse(at seconds: Int) -> Int {
            answer(send(at: seconds), .refused(retryAfter: nil, of: Self.resource(seconds % 30)), at: seconds)
                .failingRetryLimit
        }
        for hasAccepted in [false, true] {
            let (patience, begin) = hasAccepted ? (300, 121) : (60, 0)
            let end = begin + patience
            coolDown(at: begin)
            for seconds in stride(from: begin + 2, to: end, by: 2) { #expect(refuse(at: seconds) < 0) }
            #expect(refuse(at: end) == .max)
            // The time that a refusal states doesn't count.
            let timed = RequestAnswer.refused(retryAfter: .seconds(60))
            answer(send(at: end), timed, at: end)
            #expect(refuse(at: end + 60) < 0)
            answer(send(at: end + 61), .accepted(), at: end + 61)
        }
    }

    @Test mutating func `rule 58: requests that are refused again while others are served concern their number`() {
        for isServing in [false, true] {
            let refusals = (1...2).map { RequestAnswer.refused(retryAfter: nil, of: Self.resource($0)) }
            for refusal in [refusals[0], refusals[0], refusals[1]] {
                #expect(!answer(send(), refusal, isServing: isServing).isRefusal)
            }
            let repeated = answer(send(), refusals[0], isServing: isServing)
            #expect(repeated.isRefusal == isServing)
            answer(send(), .accepted())
            #expect(!answer(send(), refusals[0], isServing: isServing).isRefusal)
        }
    }

    /// Starts an assumed cool-down of 250 milliseconds at this time.
    private mutating func coolDown(at seconds: Int = 0) {
        for number in 0..<8 { answer(send(at: seconds), .failed(of: Self.resource(number)), at: seconds) }
    }

    @Test mutating func `the patience begins when the origin serves no other transfer`() {
        coolDown()
        for seconds in stride(from: 1, to: 1000, by: 1) {
            let refused = answer(
                send(at: seconds), .refused(retryAfter: nil, of: Self.resource), isServing: true, at: seconds)
            #expect(refused.failingRetryLimit < 0)
        }
        for _ in 0..<20 {
            answer(send(at: 1000), .refused(retryAfter: .seconds(1)), isServing: true, at: 1000)
        }
        #expect(answer(send(at: 1001), .failed(of: Self.resource), at: 1001).failingRetryLimit < 0)
        #expect(answer(send(at: 1002), .refused(retryAfter: .seconds(1)), at: 1002).failingRetryLimit < 0)
    }

    @Test mutating func `the time in which no transfer has a permit doesn't count as patience`() {
        coolDown()
        for seconds in stride(from: 100, to: 1500, by: 100) {
            let failed = answer(send(at: seconds), .failed(of: Self.resource), at: seconds)
            #expect(failed.failingRetryLimit < 0)
        }
    }

    @Test(arguments: [RequestAnswer.lost, .unanswered(.default), .reset(.default, of: resource)])
    mutating func `rule 37: requests without an answer count as failures of a cool-down`(_ other: RequestAnswer) {
        coolDown()
        for seconds in stride(from: 1, to: 60, by: 30) {
            #expect(answer(send(at: seconds), other, at: seconds + 28).failingRetryLimit < 0)
            #expect(nextTime(at: seconds + 28) == .milliseconds(1000 * (seconds + 28) + 250))
        }
        #expect(answer(send(at: 61), other, at: 61).failingRetryLimit == .max)
    }

    @Test mutating func `after a stated cool-down, a failure may concern its resource only`() {
        answer(send(), .refused(retryAfter: .seconds(5)))
        answer(send(at: 5), .failed(of: Self.resource), at: 5)
        #expect(nextTime(at: 5) == nil)
    }

    @Test mutating func `assumed cool-downs don't count as stated ones`() {
        coolDown()
        for seconds in 1..<30 { answer(send(at: seconds), .failed(of: Self.resource), at: seconds) }
        let consequence = answer(send(at: 30), .refused(retryAfter: .seconds(5)), at: 30)
        #expect(consequence.failingRetryLimit < 0)
    }

    @Test mutating func `the stated time of one resource doesn't prolong an assumed cool-down`() {
        let late = send()
        coolDown()
        answer(late, .refused(retryAfter: .seconds(3600), of: Self.resource))
        #expect(nextTime(at: 1) == nil)
        #expect(state.refusedResources.end(of: Self.resource, at: .seconds(1)) == .seconds(3600))
    }

    @Test mutating func `after an assumed cool-down, one request is sent, and earlier ones don't matter`() {
        let late = (0..<2).map { _ in send() }
        coolDown()
        #expect(state.mayBeginExtra(at: .seconds(1)), "no transfer may be waiting")
        let probe = send(at: 1)
        #expect(!state.mayBeginExtra(at: .seconds(1)))
        answer(late[0], .accepted(), at: 1)
        answer(late[1], .failed(of: Self.resource), at: 1)
        #expect(nextTime(at: 1) == .seconds(61))
        answer(probe, .accepted(), at: 2)
        #expect(nextTime(at: 2) == nil)
        _ = send(at: 2)
        #expect(nextTime(at: 2) == nil)
    }

    @Test mutating func `a probe without an answer is followed by another one`() {
        coolDown()
        _ = send(at: 1)
        #expect(nextTime(at: 60) == .seconds(61))
        #expect(nextTime(at: 61) == nil)
    }

    @Test mutating func `the fourth assumed cool-down in a row is reported once`() {
        var reported: [Bool] = []
        let late = send()
        coolDown()
        for seconds in 1..<6 {
            reported.append(answer(send(at: seconds), .failed(of: Self.resource), at: seconds).beginsToLast)
            if seconds == 3 { #expect(!answer(late, .failed(of: Self.resource), at: seconds).beginsToLast) }
        }
        #expect(reported == [false, false, true, false, false])
        #expect(state.hindrance(at: .seconds(5)) == .outage(nextAttempt: .milliseconds(5250)))
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

    // MARK: Announcements

    @Test mutating func `an accepted request may announce that no other one is accepted`() {
        let numbers = (0..<3).map { _ in send() }
        answer(numbers[1], .accepted(.exhausted(.seconds(20))))
        #expect(nextTime(at: 0) == .seconds(20))
        // It was counted before.
        answer(numbers[0], .accepted(.available))
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
