internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The times in which an origin can't be reached.
extension OriginStateTests {
    @Test mutating func `an origin that has never answered follows the retry policy, once for all`() {
        let numbers = (0..<3).map { send($0) }
        for number in numbers {
            let consequence = answer(number, Self.unreachable)
            #expect(consequence.step == .retry(number: 1, delay: .seconds(1)))
        }
        #expect(nextTime(at: 0) == .seconds(1))
        var now = 1
        for (number, delay) in [(2, 2), (3, 4), (4, 8), (5, 16)] {
            let consequence = answer(send(at: now), Self.unreachable, at: now)
            #expect(consequence.step == .retry(number: number, delay: .seconds(delay)))
            #expect(consequence.failingRetryLimit == number - 1)
            now += delay
        }
        let last = answer(send(at: now), Self.unreachable, at: now)
        #expect(last.failingRetryLimit == 5 && last.step == .end)
        // A later one fails at once, and one that follows after a while has all retries.
        let later = answer(send(at: now + 1), Self.unreachable, at: now + 1)
        #expect(later.step == .end)
        state.renew(at: .seconds(now + 60))
        let muchLater = answer(send(at: now + 60), Self.unreachable, at: now + 60)
        #expect(muchLater.step != .end)
    }

    @Test mutating func `an origin that has answered is waited for with a request every few seconds`() {
        answer(send(), .accepted())
        var (now, count) = (100, 0)
        while answer(send(at: now), Self.unreachable, at: now).failingRetryLimit != .max {
            guard let time = nextTime(at: now) else { break }
            now = Int((time / .seconds(1)).rounded(.up))
            count += 1
        }
        #expect(now == 130)
        #expect((6...10).contains(count), "\(count)")
    }

    @Test mutating func `only one request is sent until the origin is reached`() {
        answer(send(), Self.unreachable)
        let probe = send(1, at: 1)
        #expect(nextTime(at: 5) == .seconds(61))
        #expect(nextTime(at: 5, hasImpatient: true) == .seconds(61))
        answer(probe, .lost, at: 5)
        #expect(nextTime(at: 5) == nil)
        #expect(state.hindrance(at: .seconds(5)) == nil)
    }

    @Test mutating func `a transfer without retries decides about itself only`() {
        let never = RequestAnswer.unreachable(DownloadError(.cannotConnect), .never)
        let consequence = answer(send(), never)
        #expect(consequence.failingRetryLimit == 0 && consequence.step == .end)
        #expect(nextTime(at: 0) == .seconds(1))
        #expect(nextTime(at: 0, hasImpatient: true) == nil)
    }

    @Test mutating func `an origin that serves another transfer is waited for`() {
        answer(send(), .accepted())
        var now = 0
        while now < 100 {
            let consequence = answer(send(at: now), Self.unreachable, isServing: true, at: now)
            #expect(consequence.failingRetryLimit == 0 && consequence.step != .end)
            now += 5
        }
        // The patience begins when nothing is served any more.
        while now < 125 {
            let consequence = answer(send(at: now), Self.unreachable, at: now)
            #expect(consequence.step != .end)
            now += 5
        }
        let last = answer(send(at: now), Self.unreachable, at: now)
        #expect(last.failingRetryLimit == .max && last.step == .end)
    }

    @Test mutating func `an outage in which no transfer has waited is forgotten`() {
        answer(send(), .accepted())
        answer(send(at: 1), Self.unreachable, at: 1)
        state.renew(at: .seconds(5))
        #expect(nextTime(at: 1) == .seconds(2))
        state.renew(at: .seconds(300))
        let consequence = answer(send(at: 300), Self.unreachable, at: 300)
        #expect(consequence.failingRetryLimit == 0 && consequence.step != .end)
    }

    @Test mutating func `connections that are closed again and again count as an outage until a response`() {
        let closed = RequestAnswer.reset(.default, of: Self.resource)
        for _ in 0..<7 { answer(send(), closed) }
        #expect(state.hindrance(at: .zero) == nil)
        answer(send(), .accepted())
        for _ in 0..<7 { answer(send(), closed) }
        #expect(state.hindrance(at: .zero) == nil)
        let consequence = answer(send(), closed)
        #expect(consequence.step == .retry(number: 1, delay: .seconds(1)))
        #expect(nextTime(at: 0) == .seconds(1))
        let probe = send(1, at: 1)
        #expect(nextTime(at: 1) == .seconds(61))
        answer(probe, .accepted(), at: 2)
        #expect(nextTime(at: 2) == nil)
    }

    @Test mutating func `attempts of transfers without retries aren't those of the others`() {
        answer(send(), Self.unreachable)
        for _ in 0..<9 {
            answer(send(1), .unreachable(DownloadError(.cannotConnect), .never))
        }
        #expect(nextTime(at: 0) == .seconds(1))
        let consequence = answer(send(at: 1), Self.unreachable, at: 1)
        #expect(consequence.step == .retry(number: 2, delay: .seconds(2)))
    }

    @Test mutating func `the time in which no transfer makes an attempt doesn't count as patience`() {
        answer(send(), .accepted())
        for now in stride(from: 100, to: 600, by: 100) {
            let consequence = answer(send(at: now), Self.unreachable, at: now)
            #expect(consequence.failingRetryLimit == 0 && consequence.step != .end)
        }
    }

    @Test(arguments: [
        RequestAnswer.lost, .reset(.default, of: resource), .failed(of: resource), .accepted(),
        .refused(retryAfter: nil, of: resource),
    ])
    mutating func `a connection of the time before doesn't end an outage`(_ late: RequestAnswer) {
        let numbers = (0..<2).map { send($0) }
        answer(numbers[0], Self.unreachable)
        answer(numbers[1], late)
        #expect(nextTime(at: 0) == .seconds(1))
        answer(send(at: 1), .accepted(), at: 1)
        #expect(nextTime(at: 1) == nil)
    }

    @Test mutating func `attempts that are delayed belong to the same outage`() {
        var number = 0
        for now in stride(from: 0, to: 120, by: 20) {
            let consequence = answer(send(at: now), Self.unreachable, at: now)
            number += 1
            #expect((consequence.step == .end) == (number == 6))
        }
    }

    @Test mutating func `a request that gets no answer for long is followed by another one`() {
        answer(send(), Self.unreachable)
        let silent = send(at: 1)
        #expect(nextTime(at: 60) == .seconds(61))
        #expect(nextTime(at: 61) == nil)
        let next = send(1, at: 61)
        #expect(nextTime(at: 61) == .seconds(121))
        answer(next, .accepted(), at: 62)
        answer(silent, .nothing, at: 63)
        #expect(nextTime(at: 63) == nil)
    }

    @Test mutating func `attempts that wait long for an answer count as patience`() {
        answer(send(), .accepted())
        answer(send(), Self.unreachable)
        let numbers = (0..<2).map { send($0, at: 1 + 60 * $0) }
        let consequence = answer(numbers[0], .unanswered(.default, of: Self.resource), at: 66)
        #expect(consequence.failingRetryLimit == .max && consequence.step == .end)
    }

    @Test mutating func `a negative number of retries means none`() {
        let policy = RetryPolicy(maximumRetries: -1)
        answer(send(), .accepted())
        let consequence = answer(send(), .unreachable(DownloadError(.cannotConnect), policy))
        #expect(consequence.step == .end)
    }

    @Test mutating func `a connection that fails doesn't end a cool-down`() {
        let numbers = (0..<2).map { send($0) }
        answer(numbers[0], .refused(retryAfter: .seconds(60)))
        let consequence = answer(numbers[1], Self.unreachable, at: 10)
        #expect(consequence.step == .retry(number: 1, delay: .seconds(50)))
        #expect(nextTime(at: 10) == .seconds(60))
    }

    @Test mutating func `a cool-down that has ended doesn't affect a later refusal of one resource`() {
        answer(send(), .refused(retryAfter: .seconds(1)))
        answer(send(at: 2), .refused(retryAfter: .seconds(60), of: Self.resource), at: 2)
        #expect(nextTime(at: 2) == nil)
        // The refusal of all resources lasts for the stated time.
        answer(send(1, at: 3), .refused(retryAfter: .seconds(2)), at: 3)
        #expect(state.hindrance(at: .seconds(4)) != nil)
    }

    @Test mutating func `a request without an answer is a failure to connect during an outage only`() {
        let first = answer(send(), .unanswered(.default, of: Self.resource))
        #expect(first.step == nil)
        answer(send(), Self.unreachable)
        let consequence = answer(send(at: 1), .unanswered(.default, of: Self.resource), at: 1)
        #expect(consequence.step == .retry(number: 2, delay: .seconds(2)))
    }
}
