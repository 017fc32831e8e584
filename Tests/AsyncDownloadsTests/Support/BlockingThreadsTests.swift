import Dispatch
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of the threads for operations that may wait.
@Suite(.endsWhenHung) struct BlockingThreadsTests {
    /// Dispatch has at most 255 threads for blocking work, so with its queues the last operations would wait forever.
    @Test func `operations begin while any number of others is blocked, and Dispatch continues`() async {
        let threads = BlockingThreads(width: 2)
        let (began, continuation) = AsyncStream.makeStream(of: Int.self)
        let release = DispatchSemaphore(value: 0)
        for number in 0..<300 {
            threads.run {
                continuation.yield(number)
                release.wait()
            }
        }
        var numbers: [Int] = []
        for await number in began.prefix(300) { numbers.append(number) }
        #expect(numbers.sorted() == Array(0..<300))
        await withCheckedContinuation { done in DispatchQueue(label: "after").async { done.resume() } }
        for _ in numbers { release.signal() }
    }

    @Test func `operations that wait for one another all end`() async {
        let threads = BlockingThreads(width: 1)
        let signals = (0...20).map { _ in DispatchSemaphore(value: 0) }
        await withCheckedContinuation { done in
            for (own, next) in zip(signals, signals.dropFirst()) {
                threads.run {
                    next.wait()
                    own.signal()
                }
            }
            threads.run { signals.last?.signal() }
            threads.run {
                signals.first?.wait()
                done.resume()
            }
        }
    }

    @Test func `operations that are short are performed by few threads, again and again`() async {
        let threads = BlockingThreads(width: 3)
        let count = Mutex(0)
        for _ in 0..<50 {
            await withCheckedContinuation { done in
                let left = Mutex(40)
                for _ in 0..<40 {
                    threads.run {
                        count.withLock { $0 += 1 }
                        let isLast = left.withLock { left in
                            left -= 1
                            return left == 0
                        }
                        if isLast { done.resume() }
                    }
                }
            }
        }
        #expect(count.withLock(\.self) == 2000)
    }

    @Test func `an operation is released when it has ended, although its thread goes on`() async {
        final class Captured: Sendable {}
        let threads = BlockingThreads(width: 1)
        let release = DispatchSemaphore(value: 0)
        weak var captured: Captured?
        do {
            let object = Captured()
            captured = object
            threads.run { withExtendedLifetime(object) {} }
            threads.run { release.wait() }
        }
        while captured != nil { await Task.yield() }
        release.signal()
    }

    @Test func `operations count until they have run through a whole period`() {
        var load = BlockingLoad(width: 2)
        let first = load.begin()
        #expect(load.hasRoom)
        load.endPeriod()
        let second = load.begin()
        #expect(!load.hasRoom)
        load.endPeriod()
        #expect(load.hasRoom, "the first operation has run through the second period")
        let third = load.begin()
        #expect(!load.hasRoom)
        load.end(begunIn: first)
        #expect(!load.hasRoom, "it didn't count any more")
        load.end(begunIn: second)
        #expect(load.hasRoom)
        let fourth = load.begin()
        #expect(!load.hasRoom)
        load.end(begunIn: third)
        load.end(begunIn: fourth)
        #expect((load.begin(), load.begin()) == (2, 2))
        #expect(!load.hasRoom)
    }
}
