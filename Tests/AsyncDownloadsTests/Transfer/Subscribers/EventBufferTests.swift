internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The buffer between a download and a reader of its events (rule 57).
@Suite(.endsWhenHung)
struct EventBufferTests {
    private static func progress(_ count: Int64) -> DownloadEvent {
        .progress(DownloadProgress(receivedByteCount: count))
    }

    /// Returns the buffered events in order, followed by "end" or the error's code.
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

    @Test
    func `rule 57: the latest progress replaces an unread one`() {
        var buffer = EventBuffer()
        for event in [
            DownloadEvent.waiting(reason: .turn), Self.progress(1), Self.progress(2), .verifying, Self.progress(3),
            Self.progress(4),
        ] {
            let effects = buffer.put(event)
            #expect(effects.isEmpty)
        }
        #expect(Self.contents(&buffer) == ["waiting", "progress 2", "verifying", "progress 4"])
    }

    @Test
    func `rule 57: events other than progress are kept in order up to a hundred unread events`() {
        var buffer = EventBuffer()
        buffer.isClaimed = true
        for offset in 0..<100 { _ = buffer.put(.resumed(fromOffset: Int64(offset))) }
        #expect(Self.contents(&buffer) == (0..<100).map { "resumed \($0)" })
    }

    @Test(arguments: [true, false])
    func `no consumer has more than a hundred unread events, and the number of dropped events is emitted`(
        _ isClaimed: Bool
    ) {
        var buffer = EventBuffer()
        buffer.isClaimed = isClaimed
        for offset in 0..<20_000 { _ = buffer.put(.resumed(fromOffset: Int64(offset))) }
        #expect(Self.contents(&buffer) == ["omitted 19900"] + (19_900..<20_000).map { "resumed \($0)" })
        // The gap is emitted once: events after it are complete again.
        _ = buffer.put(.verifying)
        #expect(Self.contents(&buffer) == ["verifying"])
    }

    @Test
    func `a full buffer drops the oldest event of the new event's kind and emits a gap in its place`() {
        var buffer = Self.full()
        for offset in 50..<60 { _ = buffer.put(.resumed(fromOffset: Int64(offset))) }
        let restarts = (0..<48).map { "restarted contentChanged \($0)" }
        #expect(
            Self.contents(&buffer)
                == ["waiting", "started 5 resumable"] + restarts + ["omitted 10"] + (10..<60).map { "resumed \($0)" })
    }

    @Test
    func `a full buffer without an event of the new event's kind drops its oldest event`() {
        var buffer = Self.full()
        _ = buffer.put(.paused(receivedByteCount: 5))
        _ = buffer.put(.verifying)
        _ = buffer.put(.paused(receivedByteCount: 6))
        let contents = Self.contents(&buffer)
        #expect(contents.prefix(2) == ["omitted 2", "restarted contentChanged 0"])
        #expect(contents.suffix(4) == ["resumed 49", "omitted 1", "verifying", "paused 6"])
        #expect(contents.count == 102)
    }

    @Test
    func `adjacent gaps are emitted as one`() {
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

    @Test
    func `progress that newer progress replaces is not counted`() {
        var buffer = EventBuffer()
        _ = buffer.put(Self.progress(1))
        for offset in 0..<99 { _ = buffer.put(.resumed(fromOffset: Int64(offset))) }
        _ = buffer.put(Self.progress(2))
        #expect(Self.contents(&buffer) == (0..<99).map { "resumed \($0)" } + ["progress 2"])
    }

    @Test(arguments: [nil, DownloadError(.timedOut)])
    func `the terminal event and the error are never dropped`(_ error: DownloadError?) {
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

    @Test
    func `a gap is delivered in a separate call before the event after it`() throws {
        var buffer = EventBuffer()
        for offset in 0..<101 { _ = buffer.put(.resumed(fromOffset: Int64(offset))) }
        #expect(try buffer.take()?.get()?.summary == "omitted 1")
        #expect(try buffer.take()?.get()?.summary == "resumed 1")
    }

    /// Returns a buffer with a hundred unread events of four kinds.
    private static func full() -> EventBuffer {
        var buffer = EventBuffer()
        _ = buffer.put(.waiting(reason: .turn))
        _ = buffer.put(.started(expectedByteCount: 5, isResumable: true))
        for count in 0..<48 { _ = buffer.put(.restarted(reason: .contentChanged, discardedByteCount: Int64(count))) }
        for offset in 0..<50 { _ = buffer.put(.resumed(fromOffset: Int64(offset))) }
        return buffer
    }

    @Test
    func `the end is delivered after the buffered events, and repeatedly`() {
        var buffer = EventBuffer()
        _ = buffer.put(.verifying)
        #expect(buffer.finish(nil).count == 0)
        #expect(Self.contents(&buffer) == ["verifying", "end"])
        #expect(Self.contents(&buffer) == ["end"])
    }

    @Test
    func `an error is thrown once, and then the stream has ended`() {
        var buffer = EventBuffer()
        _ = buffer.finish(DownloadError(.timedOut))
        #expect(Self.contents(&buffer) == ["timedOut", "end"])
    }

    @Test
    func `after the end, no event and no other end is accepted`() {
        var buffer = EventBuffer()
        _ = buffer.finish(nil)
        _ = buffer.put(.waiting(reason: .turn))
        _ = buffer.finish(DownloadError(.timedOut))
        #expect(Self.contents(&buffer) == ["end"])
    }

    @Test
    func `an empty buffer has nothing to deliver until it ends`() {
        var buffer = EventBuffer()
        #expect(buffer.take() == nil)
    }

    @Test
    func `only the waiting consumer gets the next event`() async throws {
        var buffer = EventBuffer()
        let delivery = await withCheckedContinuation { continuation in
            _ = buffer.wait(continuation)
            for effect in buffer.put(Self.progress(1)) { effect() }
        }
        #expect(try delivery.get()?.summary == "progress 1")
        #expect(buffer.take() == nil)
        #expect(buffer.put(.waiting(reason: .turn)).count == 0)
    }

    @Test
    func `a waiting consumer gets the end or the error once`() async throws {
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

    @Test
    func `of two waiting consumers, the earlier gets the end and the later gets the event`() async throws {
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

    /// A buffer that two tasks can access.
    private final class Held: Sendable {
        let value: Mutex<EventBuffer>
        let task = Mutex<Task<EventBuffer.Delivery, Never>?>(nil)

        init(_ buffer: consuming EventBuffer) {
            value = Mutex(buffer)
        }
    }
}
