internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Refusals and failures that state no time.
extension OriginStateTests {
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
        #expect(state.hindrance(at: .zero) == .shortCoolDown)
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

    @Test(arguments: [RequestAnswer.lost, .unanswered(.default, of: resource), .reset(.default, of: resource)])
    mutating func `rule 37: requests without an answer count as failures of a cool-down`(_ other: RequestAnswer) {
        coolDown()
        for seconds in stride(from: 1, to: 60, by: 30) {
            #expect(answer(send(at: seconds), other, at: seconds + 28).failingRetryLimit <= 0)
            #expect(nextTime(at: seconds + 28) == .milliseconds(1000 * (seconds + 28) + 250))
        }
        let limit = answer(send(at: 61), other, at: 61).failingRetryLimit
        if case .unanswered = other { #expect(limit == 3) } else { #expect(limit == .max) }
    }

    @Test mutating func `an origin that is used again after a pause isn't given up at once`() {
        coolDown()
        for seconds in 1...60 { answer(send(at: seconds), .failed(of: Self.resource), at: seconds) }
        for _ in 0..<20 { answer(send(at: 61), .refused(retryAfter: .seconds(1)), at: 61) }
        state.renew(at: .seconds(200))
        #expect(answer(send(at: 200), .failed(of: Self.resource), at: 200).failingRetryLimit < 0)
        #expect(answer(send(at: 201), .refused(retryAfter: .seconds(1)), at: 201).failingRetryLimit < 0)
    }

    @Test mutating func `a late refusal's stated time doesn't count as patience`() {
        let late = send()
        coolDown()
        answer(late, .refused(retryAfter: .seconds(60)), at: 1)
        #expect(answer(send(at: 61), .failed(of: Self.resource), at: 61).failingRetryLimit < 0)
    }

    @Test mutating func `rule 37: an origin that answers none of eight resources has failed`() {
        for index in 0..<8 {
            #expect(nextTime(at: 30) == nil)
            let consequence = answer(send(at: 0), .unanswered(.default, of: Self.resource(index)), at: 30)
            #expect(consequence.failingRetryLimit < 0 && consequence.concernsOrigin == (index == 7))
        }
        #expect(nextTime(at: 30) == .milliseconds(30_250))
        // They may be answered the second time, so only resources that follow lose their places.
        #expect(!state.refusedResources.contains(Self.resource(0)) && state.refusedResources.contains(Self.resource(7)))
        let probe = send(at: 31)
        #expect(nextTime(at: 31) == .seconds(91))
        // Transfers without retries don't wait any longer, unless the origin serves another one.
        var serving = self
        let other = serving.answer(probe, .unanswered(.default, of: Self.resource(8)), isServing: true, at: 61)
        #expect(other.failingRetryLimit < 0)
        #expect(answer(probe, .unanswered(.default, of: Self.resource(8)), at: 61).failingRetryLimit == 0)
    }

    @Test mutating func `rule 37: without responses, a transfer waits for as many requests as it has retries`() {
        for index in 0..<8 { answer(send(at: 0), .unanswered(.default, of: Self.resource(index)), at: 30) }
        for number in 1...5 {
            let (start, end) = (1 + 30 * number, 30 + 30 * number)
            let consequence = answer(send(at: start), .unanswered(.default, of: Self.resource(7 + number)), at: end)
            #expect(consequence.failingRetryLimit == (number == 1 ? 0 : number), "\(number)")
            #expect(consequence.step == (number == 5 ? .end : nil))
        }
        // The count restarts with the patience.
        state.renew(at: .seconds(300))
        let other = answer(send(at: 300), .unanswered(.default, of: Self.resource(20)), at: 365)
        #expect(other.failingRetryLimit == 1 && other.step == nil)
    }

    @Test mutating func `probes that wait long for an answer count as patience`() {
        coolDown()
        let numbers = (0..<3).map { send($0, at: 1 + 60 * $0) }
        #expect(answer(numbers[0], .failed(of: Self.resource), at: 125).failingRetryLimit == .max)
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
        #expect(state.mayBeginExtra(isAlone: true, at: .seconds(1)), "no transfer may be waiting")
        #expect(!state.mayBeginExtra(isAlone: false, at: .seconds(1)))
        let probe = send(at: 1)
        #expect(!state.mayBeginExtra(isAlone: true, at: .seconds(1)))
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
            reported.append(answer(send(at: seconds), .failed(of: Self.resource), at: seconds).notifiesWaiting)
            if seconds == 3 { #expect(!answer(late, .failed(of: Self.resource), at: seconds).notifiesWaiting) }
        }
        #expect(reported == [false, false, true, false, false])
        #expect(state.hindrance(at: .seconds(5)) == .outage(nextAttempt: .milliseconds(5250)))
    }

    @Test mutating func `after equal intervals between accepted requests, no probe is sent much before the next one`() {
        // The time between two accepted requests is that between sending them.
        let rows: [(sent: Int, accepted: Int, next: Int)] = [
            (0, 0, 250), (4, 6, 6250), (8, 9, 11_750), (17, 18, 20_750), (21, 21, 24_750), (25, 25, 28_750),
        ]
        for (sent, accepted, next) in rows {
            answer(send(at: sent), .accepted(), at: accepted)
            for number in 0..<8 { answer(send(at: accepted), .failed(of: Self.resource(number)), at: accepted) }
            #expect(nextTime(at: accepted) == .milliseconds(next))
        }
        for _ in 0..<2 { answer(send(at: 29), .accepted(), at: 29) }
        for number in 0..<8 { answer(send(at: 29), .failed(of: Self.resource(number)), at: 29) }
        #expect(nextTime(at: 29) == .milliseconds(29_250), "two were accepted without a cool-down")
    }
}
