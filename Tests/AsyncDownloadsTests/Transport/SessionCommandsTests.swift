import Dispatch
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of the queue for calls to a session, which may block.
@Suite(.endsWhenHung) struct SessionCommandsTests {
    @Test func `the commands of one session run in the order in which they were added`() async {
        let commands = SessionCommands()
        let (numbers, continuation) = AsyncStream.makeStream(of: Int.self)
        for number in 0..<1000 { commands.add { continuation.yield(number) } }
        commands.add { continuation.finish() }
        var executed: [Int] = []
        for await number in numbers { executed.append(number) }
        #expect(executed == Array(0..<1000))
    }

    /// Dispatch has at most 255 threads for blocking work, so with its queues the last sessions would wait forever.
    @Test func `Dispatch continues while more sessions are blocked than it has threads`() async {
        let (began, continuation) = AsyncStream.makeStream(of: Void.self)
        let release = DispatchSemaphore(value: 0)
        let sessions = (0..<300).map { _ in SessionCommands() }
        for session in sessions {
            session.add {
                continuation.yield()
                release.wait()
            }
        }
        var count = 0
        for await _ in began.prefix(sessions.count) { count += 1 }
        #expect(count == sessions.count)
        await withCheckedContinuation { done in DispatchQueue(label: "after").async { done.resume() } }
        for _ in sessions { release.signal() }
    }
}
