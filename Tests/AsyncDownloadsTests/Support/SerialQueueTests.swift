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
        await withCheckedContinuation { done in
            queue.async {
                queue.suspend()
                queue.suspend()
                queue.async {
                    events.withLock { $0.append("operation") }
                    done.resume()
                }
                events.withLock { $0.append("first") }
                queue.resume()
                BlockingThreads.run {
                    events.withLock { $0.append("second") }
                    queue.resume()
                }
            }
        }
        #expect(events.withLock(\.self) == ["first", "second", "operation"])
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
