internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct RetryBudgetTests {
    private static let error = DownloadError(.connectionLost)
    private static let policy = RetryPolicy(maximumRetries: 2, baseDelay: .seconds(8))

    @Test func `retries end with the budget`() {
        var budget = RetryBudget(seed: 1)
        for number in 1...2 {
            let attempt = budget.nextAttempt(after: Self.error, policy: Self.policy, received: 0)
            #expect(attempt?.number == number)
            #expect((attempt?.delay ?? .zero) <= attempt?.longestDelay ?? .zero)
        }
        #expect(budget.nextAttempt(after: Self.error, policy: Self.policy, received: 0) == nil)
    }

    @Test(arguments: [(0, true), (29 << 20, true), (30 << 20, false)] as [(Int64, Bool)])
    func `a server that asks to wait is left for another one, unless many bytes were received`(
        received: Int64, isFinal: Bool
    ) {
        let error = DownloadError(.httpStatus, statusCode: 429, isRetryable: true, retryAfter: .seconds(30))
        var policy = Self.policy
        policy.endsWhenRefused = true
        for policy in [policy, Self.policy] {
            var budget = RetryBudget(seed: 1)
            let attempt = budget.nextAttempt(after: error, policy: policy, received: received)
            #expect((attempt == nil) == (isFinal && policy.endsWhenRefused))
        }
    }

    @Test func `rule 37: an attempt that brought new bytes does not count`() {
        var budget = RetryBudget(seed: 1)
        for received in [10, 20, 30] as [Int64] {
            #expect(budget.nextAttempt(after: Self.error, policy: Self.policy, received: received)?.number == 1)
        }
        #expect(budget.nextAttempt(after: Self.error, policy: Self.policy, received: 30)?.number == 2)
    }

    @Test func `the number of failures in total has a limit, whatever was received in between`() {
        var budget = RetryBudget(seed: 1)
        for number in 1...5 as ClosedRange<Int64> {
            let attempt = budget.nextAttempt(after: Self.error, policy: Self.policy, received: number, limit: 4)
            #expect(attempt?.number == (number <= 4 ? 1 : nil))
        }
        budget.refill(found: 5)
        #expect(budget.failureCount == 0)
        #expect(budget.nextAttempt(after: Self.error, policy: Self.policy, received: 5, limit: 4)?.number == 1)
        #expect(budget.nextAttempt(after: Self.error, policy: Self.policy, received: 5, limit: 4)?.number == 2)
    }

    @Test func `bytes that were lost and are kept again are no progress`() {
        var budget = RetryBudget(seed: 1)
        let areNew = [budget.kept(5), budget.kept(5), budget.kept(0)]
        #expect(areNew == [true, false, false])
        var numbers: [Int?] = []
        for received in [5, 0, 5] as [Int64] {
            let attempt = budget.nextAttempt(after: Self.error, policy: Self.policy, received: received)
            numbers.append(attempt?.number)
        }
        #expect(numbers == [1, 2, nil])
        let isNew = budget.kept(6)
        #expect(isNew && budget.retriesUsed == 0)
    }

    @Test func `a recorded budget continues with the same failures and the same delays`() throws {
        var budget = RetryBudget(seed: 1)
        let pause = DownloadError(.httpStatus, statusCode: 503, isRetryable: true, retryAfter: .seconds(9))
        for error in [Self.error, pause] {
            _ = budget.nextAttempt(after: error, policy: Self.policy, received: 7)
        }
        var recorded = try JSONDecoder().decode(RetryBudget.self, from: JSONEncoder().encode(budget))
        #expect(recorded == budget && recorded.failureCount == 2)
        let delays = [
            budget.nextAttempt(after: Self.error, policy: Self.policy, received: 7)?.delay,
            recorded.nextAttempt(after: Self.error, policy: Self.policy, received: 7)?.delay,
        ]
        #expect(delays[0] != nil && delays[0] == delays[1])
        #expect(try JSONDecoder().decode(RetryBudget.self, from: Data("{}".utf8)) == RetryBudget(seed: 0))
    }

    @Test func `rule 58: the first attempt after others have made room uses no retry`() {
        for policy in [Self.policy, .never] {
            var budget = RetryBudget(seed: 1)
            for received in [0, 5] as [Int64] {
                budget.extrasWereReleased()
                let attempt = budget.nextAttempt(after: Self.error, policy: policy, received: received)
                #expect(attempt?.number == 1 && attempt?.delay == .milliseconds(250) && budget.retriesUsed == 0)
                // Once, until bytes arrive.
                budget.extrasWereReleased()
                let next = budget.nextAttempt(after: Self.error, policy: policy, received: received)
                #expect(next?.number == (policy == .never ? nil : 2))
            }
        }
        let permanent = DownloadError(.httpStatus, statusCode: 404)
        let delayed = DownloadError(.httpStatus, statusCode: 429, isRetryable: true, retryAfter: .seconds(60))
        for error in [permanent, delayed] {
            var budget = RetryBudget(seed: 1)
            budget.extrasWereReleased()
            #expect(budget.nextAttempt(after: error, policy: .never, received: 0) == nil)
        }
        var budget = RetryBudget(seed: 1)
        budget.extrasWereReleased()
        // Another request was sent before the refusal was judged.
        budget.requestSent()
        #expect(budget.nextAttempt(after: Self.error, policy: .never, received: 0) == nil)
    }

    @Test func `rule 37: a 503 with Retry-After or a 429 uses no retry, ten times in a row`() {
        for (status, retryAfter) in [(429, 7), (503, 7), (429, nil)] as [(Int, Int?)] {
            let refusal = DownloadError(
                .httpStatus, statusCode: status, isRetryable: true, retryAfter: retryAfter.map { .seconds($0) })
            var budget = RetryBudget(seed: 1)
            for number in 1...10 {
                let attempt = budget.nextAttempt(after: refusal, policy: Self.policy, received: 0)
                #expect(attempt?.number == number)
                let longest =
                    retryAfter.map { .seconds($0) }
                    ?? Self.policy.delay(beforeRetry: number, jitter: 1, retryAfter: nil)
                #expect(attempt?.longestDelay == longest)
                if retryAfter != nil { #expect(attempt?.delay == longest) }
                #expect(budget.retriesUsed == 0)
            }
            for used in 1...2 {
                #expect(budget.nextAttempt(after: refusal, policy: Self.policy, received: 0)?.number == 10 + used)
                #expect(budget.retriesUsed == used)
            }
            #expect(budget.nextAttempt(after: refusal, policy: Self.policy, received: 0) == nil)
            // New bytes begin a new count.
            #expect(budget.nextAttempt(after: refusal, policy: Self.policy, received: 1)?.number == 1)
            #expect(budget.retriesUsed == 0)
        }
    }

    @Test func `rule 37: other statuses, a 503 without a time, and a policy without retries have no cool-down`() {
        for (status, retryAfter) in [(500, 7), (503, 0), (503, nil)] as [(Int, Int?)] {
            let error = DownloadError(
                .httpStatus, statusCode: status, isRetryable: true, retryAfter: retryAfter.map { .seconds($0) })
            var budget = RetryBudget(seed: 1)
            #expect(budget.nextAttempt(after: error, policy: Self.policy, received: 0) != nil)
            #expect(budget.retriesUsed == 1)
        }
        let refusal = DownloadError(.httpStatus, statusCode: 429, isRetryable: true, retryAfter: .seconds(7))
        var budget = RetryBudget(seed: 1)
        #expect(budget.nextAttempt(after: refusal, policy: .never, received: 0) == nil)
    }

    @Test(arguments: [502, nil] as [Int?])
    func `rule 37: after a failure that concerns the origin, an attempt awaits the origin, ten times in a row`(
        status: Int?
    ) {
        let failure = DownloadError(status == nil ? .timedOut : .httpStatus, statusCode: status, isRetryable: true)
        var budget = RetryBudget(seed: 1)
        for number in 1...12 {
            budget.requestSent()
            // No delay is longer.
            budget.originFailed(isDirect: true, at: .seconds(100 * number))
            let attempt = budget.nextAttempt(after: failure, policy: Self.policy, received: 0)
            #expect(attempt?.number == number)
            #expect(attempt?.awaitsOrigin == (number <= 10))
            #expect(budget.retriesUsed == max(0, number - 10))
        }
        budget = RetryBudget(seed: 1)
        budget.originFailed(isDirect: true, at: .zero)
        budget.requestSent()
        _ = budget.nextAttempt(after: failure, policy: Self.policy, received: 0)
        #expect(budget.retriesUsed == 1)
        budget.originFailed(isDirect: true, at: .zero)
        #expect(budget.nextAttempt(after: failure, policy: .never, received: 0) == nil)
    }

    @Test func `rule 37: frequent failures that concern the origin count as often as the delays they replace`() {
        let failure = DownloadError(.httpStatus, statusCode: 502, isRetryable: true)
        for seed in Seeds.first(10) {
            var (budget, now, last) = (RetryBudget(seed: seed), Duration.zero, 0)
            while budget.retriesUsed == 0 {
                budget.originFailed(isDirect: true, at: now)
                let number = budget.nextAttempt(after: failure, policy: .default, received: 0)?.number
                #expect(number == last || number == last + 1)
                (now, last) = (now + .milliseconds(250), number ?? 0)
            }
            // The mean of the delays is 151 s.
            #expect(now > .seconds(50) && now < .seconds(290))
        }
    }

    @Test(arguments: [(nil, false), (.seconds(7), true)] as [(Duration?, Bool)])
    func `rule 37: after a redirect, or with a stated time, an attempt follows after a delay`(
        retryAfter: Duration?, isDirect: Bool
    ) {
        let failure = DownloadError(.httpStatus, statusCode: 502, isRetryable: true, retryAfter: retryAfter)
        var budget = RetryBudget(seed: 1)
        for number in 1...10 {
            budget.originFailed(isDirect: isDirect, at: .zero)
            let attempt = budget.nextAttempt(after: failure, policy: Self.policy, received: 0)
            #expect(attempt?.number == number && attempt?.awaitsOrigin == false)
            #expect(attempt?.longestDelay ?? .zero > .zero)
            if let retryAfter { #expect(attempt?.delay == retryAfter) }
        }
    }

    @Test func `a stated time that isn't respected counts as none`() {
        let refusal = DownloadError(.httpStatus, statusCode: 503, isRetryable: true, retryAfter: .seconds(60))
        var (budget, policy) = (RetryBudget(seed: 1), Self.policy)
        policy.maximumRetryAfter = .zero
        _ = budget.nextAttempt(after: refusal, policy: policy, received: 0)
        #expect(budget.retriesUsed == 1)
    }

    @Test func `bytes that were found do not count as new`() {
        var budget = RetryBudget(seed: 1)
        budget.found(50)
        #expect(budget.nextAttempt(after: Self.error, policy: Self.policy, received: 50)?.number == 1)
        #expect(budget.nextAttempt(after: Self.error, policy: Self.policy, received: 50)?.number == 2)
    }

    @Test func `a permanent error gets no attempt`() {
        var budget = RetryBudget(seed: 1)
        #expect(budget.nextAttempt(after: DownloadError(.unsupported), policy: Self.policy, received: 10) == nil)
    }

    @Test func `rule 37: the bytes of an object that replaces another one are new, once a day`() {
        var budget = RetryBudget(seed: 1)
        func attempts(_ counts: [Int64]) -> [Int?] {
            counts.map { budget.nextAttempt(after: Self.error, policy: Self.policy, received: $0)?.number }
        }
        #expect(attempts([80, 80]) == [1, 2])
        budget.replaced(at: .zero)
        #expect(attempts([0]) == [nil])
        #expect(attempts([10, 20, 30]) == [1, 1, 1])
        // An object that changes whenever it was continued.
        var numbers: [Int?] = []
        for _ in 0..<2 {
            budget.replaced(at: .seconds(60))
            numbers += attempts([10, 20])
        }
        #expect(numbers == [2, nil, nil, nil])
        #expect(attempts([31]) == [1])
        budget.replaced(at: .seconds(90_000))
        #expect(attempts([10, 20]) == [1, 1])
    }

    @Test func `rule 27: a second forced restart is refused unless requests are bounded`() {
        var budget = RetryBudget(seed: 1)
        #expect(budget.forceRestart(isBounded: false, at: .zero) == 0)
        #expect(budget.forceRestart(isBounded: false, at: .seconds(3600)) == nil)
        #expect(budget.forceRestart(isBounded: true, at: .seconds(3600)) == 1)
        budget.restartsUndone()
        #expect(budget.forceRestart(isBounded: false, at: .seconds(3600)) == 0)
        // A day later, the object may have changed again.
        #expect(budget.forceRestart(isBounded: false, at: .seconds(90_000)) == 0)
    }

    @Test func `the first excess is distinguished from later ones, for a day`() {
        var budget = RetryBudget(seed: 1)
        #expect(budget.countExcess(at: .zero) == true)
        #expect(budget.countExcess(at: .zero) == false)
        #expect(budget.countExcess(at: .seconds(86_400)) == true)
    }
}
