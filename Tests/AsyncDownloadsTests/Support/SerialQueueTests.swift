import Dispatch
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of the queue for operations that may wait.
@Suite(.endsWhenHung) struct SerialQueueTests {
    @Test func `operations run in the order in which they were added`() async {
        let queue = SerialQueue()
        let (numbers, continuation) = AsyncStream.makeStream(of: Int.self)
        for number in 0..<1000 { queue.async { continuation.yield(number) } }
        queue.async { continuation.finish() }
        var executed: [Int] = []
        for await number in numbers { executed.append(number) }
        #expect(executed == Array(0..<1000))
    }

    @Test func `operations that are added by an operation begin after it has ended`() async {
        let queue = SerialQueue()
        let (words, continuation) = AsyncStream.makeStream(of: String.self)
        queue.async {
            queue.async {
                continuation.yield("inner")
                continuation.finish()
            }
            continuation.yield("outer")
        }
        var executed: [String] = []
        for await word in words { executed.append(word) }
        #expect(executed == ["outer", "inner"])
    }

    @Test func `a suspended queue begins no operation until it is resumed as often`() async {
        let queue = SerialQueue()
        let events = Mutex<[String]>([])
        queue.suspend()
        queue.suspend()
        await withCheckedContinuation { done in
            queue.async {
                events.withLock { $0.append("operation") }
                done.resume()
            }
            queue.resume()
            // Other operations of the same threads begin and end in the meantime.
            let isDone = DispatchSemaphore(value: 0)
            for _ in 0..<100 {
                BlockingThreads.run { isDone.signal() }
                isDone.wait()
            }
            events.withLock { $0.append("last call") }
            queue.resume()
        }
        #expect(events.withLock(\.self) == ["last call", "operation"])
    }

    @Test func `operations never overlap while the queue is suspended and resumed`() async {
        let queue = SerialQueue()
        let running = Mutex(0)
        let overlaps = Mutex(0)
        await withCheckedContinuation { done in
            let rest = Mutex(2000)
            for _ in 0..<2000 {
                BlockingThreads.run {
                    queue.suspend()
                    queue.async {
                        let isAlone = running.withLock { running in
                            running += 1
                            return running == 1
                        }
                        if !isAlone { overlaps.withLock { $0 += 1 } }
                        running.withLock { $0 -= 1 }
                        let isLast = rest.withLock { rest in
                            rest -= 1
                            return rest == 0
                        }
                        if isLast { done.resume() }
                    }
                    queue.resume()
                }
            }
        }
        #expect(overlaps.withLock(\.self) == 0)
    }

    @Test func `a queue that is resumed by its last operation continues`() async {
        let queue = SerialQueue()
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            queue.async {
                queue.suspend()
                queue.async { done.resume() }
                queue.resume()
            }
        }
    }
}
