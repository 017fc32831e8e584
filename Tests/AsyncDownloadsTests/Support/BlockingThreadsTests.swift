import Dispatch
import Foundation
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
        let counts = Mutex<[pthread_t: Int]>([:])
        for _ in 0..<50 {
            await withCheckedContinuation { done in
                let left = Mutex(40)
                for _ in 0..<40 {
                    threads.run {
                        counts.withLock { $0[pthread_self(), default: 0] += 1 }
                        let isLast = left.withLock { left in
                            left -= 1
                            return left == 0
                        }
                        if isLast { done.resume() }
                    }
                }
            }
        }
        #expect(counts.withLock { $0.values.reduce(0, +) } == 2000)
        // Usually four; more on a machine on which short operations take long.
        #expect(counts.withLock(\.count) < 200)
    }

    @Test func `threads without work end`() async {
        weak var threads: BlockingThreads?
        do {
            let new = BlockingThreads(width: 3, idleTime: .milliseconds(1))
            threads = new
            for _ in 0..<10 { await withCheckedContinuation { done in new.run { done.resume() } } }
        }
        // Each thread keeps the object.
        while threads != nil { await Task.yield() }
    }

    @Test func `an operation is released when it has ended, although its thread continues`() async {
        final class Captured: Sendable {}
        let threads = BlockingThreads(width: 1)
        let release = DispatchSemaphore(value: 0)
        weak var captured: Captured?
        do {
            let object = Captured()
            captured = object
            threads.run {
                // It follows on the same thread, unless this operation takes long.
                threads.run { release.wait() }
                withExtendedLifetime(object) {}
            }
        }
        while captured != nil { await Task.yield() }
        release.signal()
    }

    /// Returns a group for which the system refuses all threads but the first one.
    private static func threadsWithOneThread() -> BlockingThreads {
        let isStarted = Mutex(false)
        return BlockingThreads(width: 4) { body in
            let isFirst = isStarted.withLock { isStarted in
                defer { isStarted = true }
                return !isStarted
            }
            return isFirst && SystemThread.startIfPossible(body)
        }
    }

    @Test func `operations are performed by the threads that exist while the system refuses others`() async {
        let (began, continuation) = AsyncStream.makeStream(of: Int.self)
        let threads = Self.threadsWithOneThread()
        for number in 0..<20 { threads.run { continuation.yield(number) } }
        var numbers: [Int] = []
        for await number in began.prefix(20) { numbers.append(number) }
        #expect(numbers.sorted() == Array(0..<20))
    }

    @Test func `operations begin when the system no longer refuses threads`() async {
        let threads = RefusedThreads()
        let (began, continuation) = AsyncStream.makeStream(of: Int.self)
        let release = DispatchSemaphore(value: 0)
        let blocking = BlockingThreads(width: 1) { threads.start($0) }
        // Each thread is refused three times; all operations are blocked, so each needs its own.
        for number in 0..<6 {
            blocking.run {
                continuation.yield(number)
                release.wait()
            }
        }
        var numbers: [Int] = []
        for await number in began.prefix(6) { numbers.append(number) }
        #expect(numbers.sorted() == Array(0..<6))
        for _ in numbers { release.signal() }
        #expect(threads.refusalCount >= 18, "for the six operations")
    }

    @Test func `no more operations than permitted are performed at a time, however long they take`() async {
        let threads = BlockingThreads(width: 2, maximum: 3)
        let (ended, continuation) = AsyncStream.makeStream(of: Int.self)
        let release = DispatchSemaphore(value: 0)
        let running = Mutex((now: 0, most: 0))
        for number in 0..<9 {
            threads.run {
                let isThird = running.withLock { running in
                    running.now += 1
                    running.most = max(running.most, running.now)
                    return running.now == 3
                }
                // Three operations run at a time only if the first two take long.
                if isThird { for _ in 0..<9 { release.signal() } }
                release.wait()
                running.withLock { $0.now -= 1 }
                continuation.yield(number)
            }
        }
        var count = 0
        for await _ in ended.prefix(9) { count += 1 }
        #expect(running.withLock(\.most) == 3)
    }

    @Test func `an operation counts until it has run through a whole period, and permits another one then`() {
        var load = BlockingLoad(width: 2)
        let first = load.begin()
        #expect(load.hasRoom)
        load.endPeriod()
        let second = load.begin()
        #expect(!load.hasRoom)
        load.endPeriod()
        // The first one has run through the second period.
        let others = [load.begin(), load.begin()]
        #expect(!load.hasRoom)
        load.end(begunIn: first)
        #expect(!load.hasRoom)
        load.end(begunIn: second)
        #expect(!load.hasRoom)
        for other in others { load.end(begunIn: other) }
        #expect((load.begin(), load.begin()) == (2, 2))
        #expect(!load.hasRoom)
    }

    @Test func `operations that take long count toward a maximum`() {
        var load = BlockingLoad(width: 2, maximum: 3)
        let first = load.begin()
        _ = load.begin()
        load.endPeriod()
        load.endPeriod()
        #expect(load.hasRoom)
        _ = load.begin()
        #expect(!load.hasRoom)
        load.endPeriod()
        load.endPeriod()
        #expect(!load.hasRoom)
        load.end(begunIn: first)
        #expect(load.hasRoom)
    }

    /// All threads may be in such calls, so none of them may wait there for another one.
    @Test func `an operation that adds others isn't held up while the system refuses threads`() async {
        let threads = Self.threadsWithOneThread()
        await withCheckedContinuation { done in
            threads.run {
                for _ in 0..<3 { threads.run {} }
                threads.run { done.resume() }
            }
        }
    }

    @Test func `the number of operations that may begin doubles while all take long`() {
        var load = BlockingLoad(width: 8)
        var counts: [Int] = []
        for _ in 0..<4 {
            var count = 0
            while load.hasRoom {
                _ = load.begin()
                count += 1
            }
            counts.append(count)
            load.endPeriod()
            load.endPeriod()
        }
        #expect(counts == [8, 16, 32, 64])
    }
}

/// A source of threads that refuses each thread three times.
private final class RefusedThreads: Sendable {
    private let count = Mutex(0)

    var refusalCount: Int { count.withLock { $0 - $0 / 4 } }

    func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        let number = count.withLock { count in
            count += 1
            return count
        }
        return number.isMultiple(of: 4) && SystemThread.startIfPossible(body)
    }
}
