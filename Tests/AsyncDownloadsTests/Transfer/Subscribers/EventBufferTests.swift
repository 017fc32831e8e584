internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("Mailbox", .endsWhenHung)
struct EventBufferTests {
    private static func progress(_ count: Int64) -> DownloadEvent {
        .progress(DownloadProgress(receivedByteCount: count))
    }

    /// What is in it, in order, and "end" or the error's code after that.
    private static func contents(_ buffer: inout EventBuffer) -> [String] {
        var contents: [String] = []
        while let delivery = buffer.take() {
            switch delivery {
            case .success(let event?): contents.append(event.summary)
            case .success(nil): return contents + ["end"]
            case .failure(let error): contents.append(error.code.name)
            }
        }
        return contents
    }

    @Test("rule 57: the latest progress replaces one that nobody has taken")
    func latest() {
        var buffer = EventBuffer()
        for event in [
            DownloadEvent.waiting, Self.progress(1), Self.progress(2), .verifying, Self.progress(3), Self.progress(4),
        ] {
            let effects = buffer.put(event)
            #expect(effects.isEmpty)
        }
        #expect(Self.contents(&buffer) == ["waiting", "progress 2", "verifying", "progress 4"])
    }

    @Test("rule 57: what is not progress is kept in order while fewer than a hundred events are unread")
    func lifecycle() {
        var buffer = EventBuffer()
        buffer.isClaimed = true
        for offset in 0..<100 { _ = buffer.put(.resumed(fromOffset: Int64(offset))) }
        #expect(Self.contents(&buffer) == (0..<100).map { "resumed \($0)" })
    }

    @Test(
        "no consumer has more than a hundred unread events, and it learns how many were left out",
        arguments: [true, false])
    func bounded(_ isClaimed: Bool) {
        var buffer = EventBuffer()
        buffer.isClaimed = isClaimed
        for offset in 0..<20_000 { _ = buffer.put(.resumed(fromOffset: Int64(offset))) }
        #expect(Self.contents(&buffer) == ["omitted 19900"] + (19_900..<20_000).map { "resumed \($0)" })
        // Told once: what comes after it has been read is complete again.
        _ = buffer.put(.verifying)
        #expect(Self.contents(&buffer) == ["verifying"])
    }

    @Test("a full buffer leaves out the oldest event of the kind that comes, and says so in its place")
    func oneKind() {
        var buffer = Self.full()
        for offset in 50..<60 { _ = buffer.put(.resumed(fromOffset: Int64(offset))) }
        let restarts = (0..<48).map { "restarted contentChanged \($0)" }
        #expect(
            Self.contents(&buffer)
                == ["waiting", "started 5 resumable"] + restarts + ["omitted 10"] + (10..<60).map { "resumed \($0)" })
    }

    @Test("a full buffer leaves out its oldest event where it has none of the kind that comes")
    func oldest() {
        var buffer = Self.full()
        _ = buffer.put(.paused(receivedByteCount: 5))
        _ = buffer.put(.verifying)
        _ = buffer.put(.paused(receivedByteCount: 6))
        let contents = Self.contents(&buffer)
        #expect(contents.prefix(2) == ["omitted 2", "restarted contentChanged 0"])
        #expect(contents.suffix(4) == ["resumed 49", "omitted 1", "verifying", "paused 6"])
        #expect(contents.count == 102)
    }

    @Test("gaps that meet are told as one")
    func meetingGaps() {
        var buffer = EventBuffer()
        for _ in 0..<50 {
            _ = buffer.put(.resumed(fromOffset: 1))
            _ = buffer.put(.restarted(reason: .contentChanged, discardedByteCount: 1))
        }
        for _ in 0..<50 {
            _ = buffer.put(.resumed(fromOffset: 2))
            _ = buffer.put(.restarted(reason: .contentChanged, discardedByteCount: 2))
        }
        let contents = Self.contents(&buffer)
        #expect(contents.first == "omitted 100")
        #expect(contents.count == 101)
        #expect(contents.allSatisfy { !$0.hasSuffix(" 1") })
    }

    @Test("progress that newer progress replaces is not counted")
    func replacedProgress() {
        var buffer = EventBuffer()
        _ = buffer.put(Self.progress(1))
        for offset in 0..<99 { _ = buffer.put(.resumed(fromOffset: Int64(offset))) }
        _ = buffer.put(Self.progress(2))
        #expect(Self.contents(&buffer) == (0..<99).map { "resumed \($0)" } + ["progress 2"])
    }

    @Test("the last event and the error are never left out", arguments: [nil, DownloadError(.timedOut)])
    func terminal(_ error: DownloadError?) {
        var buffer = Self.full()
        if error == nil {
            _ = buffer.put(
                .finished(
                    .init(
                        url: .sample("file:///a"), byteCount: 5, fetchedByteCount: 5,
                        finalURL: .sample("https://a.example/"))))
        }
        _ = buffer.finish(error)
        let contents = Self.contents(&buffer)
        #expect(contents.last == "end")
        #expect(contents.contains("timedOut") == (error != nil))
        #expect(contents.contains("finished 5") == (error == nil))
        #expect(contents.first == (error == nil ? "omitted 1" : "waiting"))
    }

    @Test("a gap that is told leaves the event after it for the next call")
    func gapFirst() throws {
        var buffer = EventBuffer()
        for offset in 0..<101 { _ = buffer.put(.resumed(fromOffset: Int64(offset))) }
        #expect(try buffer.take()?.get()?.summary == "omitted 1")
        #expect(try buffer.take()?.get()?.summary == "resumed 1")
    }

    /// A mailbox of a hundred unread events of four kinds.
    private static func full() -> EventBuffer {
        var buffer = EventBuffer()
        _ = buffer.put(.waiting)
        _ = buffer.put(.started(expectedByteCount: 5, isResumable: true))
        for count in 0..<48 { _ = buffer.put(.restarted(reason: .contentChanged, discardedByteCount: Int64(count))) }
        for offset in 0..<50 { _ = buffer.put(.resumed(fromOffset: Int64(offset))) }
        return buffer
    }

    @Test("the end comes after what is in it, and for ever")
    func orderlyEnd() {
        var buffer = EventBuffer()
        _ = buffer.put(.verifying)
        #expect(buffer.finish(nil).count == 0)
        #expect(Self.contents(&buffer) == ["verifying", "end"])
        #expect(Self.contents(&buffer) == ["end"])
    }

    @Test("an error is thrown once, and then the stream has ended")
    func error() {
        var buffer = EventBuffer()
        _ = buffer.finish(DownloadError(.timedOut))
        #expect(Self.contents(&buffer) == ["timedOut", "end"])
    }

    @Test("after the end nothing is taken in, and no other end")
    func afterTheEnd() {
        var buffer = EventBuffer()
        _ = buffer.finish(nil)
        _ = buffer.put(.waiting)
        _ = buffer.finish(DownloadError(.timedOut))
        #expect(Self.contents(&buffer) == ["end"])
    }

    @Test("an empty buffer has nothing to deliver until it ends")
    func empty() {
        var buffer = EventBuffer()
        #expect(buffer.take() == nil)
    }

    @Test("who waits gets the next event, and no one else does")
    func waiting() async throws {
        var buffer = EventBuffer()
        let delivery = await withCheckedContinuation { continuation in
            _ = buffer.wait(continuation)
            for effect in buffer.put(Self.progress(1)) { effect() }
        }
        #expect(try delivery.get()?.summary == "progress 1")
        #expect(buffer.take() == nil)
        #expect(buffer.put(.waiting).count == 0)
    }

    @Test("who waits gets the end, or the error, once")
    func waitingForTheEnd() async throws {
        for error in [nil, DownloadError(.timedOut)] {
            var buffer = EventBuffer()
            let delivery = await withCheckedContinuation { continuation in
                _ = buffer.wait(continuation)
                for effect in buffer.finish(error) { effect() }
            }
            switch delivery {
            case .success(let event): #expect(event == nil && error == nil)
            case .failure(let thrown): #expect(thrown.code == error?.code)
            }
            #expect(Self.contents(&buffer) == ["end"])
        }
    }

    @Test("of two that wait the earlier gets the end, and the later the event")
    func twoWaiters() async throws {
        let buffer = Held(EventBuffer())
        await withCheckedContinuation { waits in
            let task = Task {
                await withCheckedContinuation { continuation in
                    _ = buffer.value.withLock { $0.wait(continuation) }
                    waits.resume()
                }
            }
            buffer.task.withLock { $0 = task }
        }
        let later = await withCheckedContinuation { continuation in
            let first = buffer.value.withLock { $0.wait(continuation) }
            let second = buffer.value.withLock { $0.put(.verifying) }
            for effect in first + second { effect() }
        }
        let first = try #require(buffer.task.withLock { $0 })
        #expect(try await first.value.get() == nil)
        #expect(try later.get()?.summary == "verifying")
    }

    /// A mailbox that two tasks can reach.
    private final class Held: Sendable {
        let value: Mutex<EventBuffer>
        let task = Mutex<Task<EventBuffer.Delivery, Never>?>(nil)

        init(_ buffer: consuming EventBuffer) {
            value = Mutex(buffer)
        }
    }
}
