import Dispatch
import TestSupport
import Testing

@testable import AsyncDownloads

/// What sessions are told, while they block whoever tells them.
@Suite(.endsWhenHung) struct SessionCommandsTests {
    @Test func `commands of one session are carried out in the order in which they were given`() async {
        let commands = SessionCommands()
        let (numbers, continuation) = AsyncStream.makeStream(of: Int.self)
        for number in 0..<1000 { commands.add { continuation.yield(number) } }
        commands.add { continuation.finish() }
        var carriedOut: [Int] = []
        for await number in numbers { carriedOut.append(number) }
        #expect(carriedOut == Array(0..<1000))
    }

    /// Dispatch has 255 threads for those who block, so with its queues the last would wait for ever.
    @Test func `more sessions than Dispatch has threads block at once, and Dispatch goes on`() async {
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
