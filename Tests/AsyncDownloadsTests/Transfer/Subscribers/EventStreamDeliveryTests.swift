internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The events between a download and a reader of one of its streams (rule 57).
@Suite(.endsWhenHung)
struct EventStreamDeliveryTests {
    private typealias Events = AsyncThrowingStream<DownloadEvent, any Error>

    private static func progress(_ count: Int64) -> DownloadEvent {
        .progress(DownloadProgress(receivedByteCount: count))
    }

    /// Adds events as a transfer does.
    private static func put(_ events: [DownloadEvent], _ producer: EventStream) {
        for event in events { for effect in producer.put([event]) { effect() } }
    }

    private static func finish(_ producer: EventStream, _ error: DownloadError? = nil) {
        for effect in producer.finish(error) { effect() }
    }

    /// Reads an ended stream: the events in order, followed by "end" or the error's code.
    private static func contents(_ events: Events) async -> [String] {
        var contents: [String] = []
        do {
            for try await event in events { contents.append(event.summary) }
            return contents + ["end"]
        } catch {
            return contents + [(error as? DownloadError)?.code.name ?? "\(error)"]
        }
    }

    @Test
    func `rule 57: before a stream is opened, the latest progress replaces the last event if that is progress`() {
        var history = EventHistory()
        for event in [
            DownloadEvent.waiting(reason: .turn), Self.progress(1), Self.progress(2), .verifying, Self.progress(3),
            Self.progress(4),
        ] {
            history.put(event)
        }
        #expect(history.contents.map(\.summary) == ["waiting", "progress 2", "verifying", "progress 4"])
    }

    @Test
    func `rule 57: a history has at most a hundred events, and begins with the number of those before`() {
        var history = EventHistory()
        history.put(Self.progress(1))
        for offset in 0..<20_000 { history.put(.resumed(fromOffset: Int64(offset))) }
        #expect(history.contents.map(\.summary) == ["omitted 19900"] + (19_900..<20_000).map { "resumed \($0)" })
    }

    @Test
    func `rule 57: a reader that has fallen behind receives the last events, and the number of the others`()
        async
    {
        let (events, producer) = EventStream.make()
        Self.put((0..<EventStream.capacity + 150).map { .resumed(fromOffset: Int64($0)) }, producer)
        Self.put([.verifying], producer)
        Self.finish(producer)
        let contents = await Self.contents(events)
        // The report itself takes the place of one more event.
        #expect(
            contents == (152..<EventStream.capacity + 150).map { "resumed \($0)" } + [
                "verifying", "omitted 151", "end",
            ])
    }

    @Test
    func `rule 57: the last event is never omitted`() async {
        let (events, producer) = EventStream.make()
        Self.put((0..<EventStream.capacity).map { .resumed(fromOffset: Int64($0)) }, producer)
        let file = DownloadedFile(
            url: .sample("file:///a"), byteCount: 5, fetchedByteCount: 5, finalURL: .sample("https://a.example/"))
        // Added together, as a transfer does.
        for effect in producer.put([.verifying, .finished(file)]) + producer.finish(nil) { effect() }
        let contents = await Self.contents(events)
        #expect(contents.suffix(2) == ["finished 5", "end"])
        #expect(contents.count == EventStream.capacity + 1)
    }

    @Test
    func `rule 57: a reader that reads again receives the number of omitted events before the next event`() async throws
    {
        let (events, producer) = EventStream.make()
        var reader = events.makeAsyncIterator()
        Self.put((0..<EventStream.capacity + 3).map { .resumed(fromOffset: Int64($0)) }, producer)
        for offset in 3..<EventStream.capacity + 3 { #expect(try await reader.next()?.summary == "resumed \(offset)") }
        Self.put([.resumed(fromOffset: 7777), .resumed(fromOffset: 8888)], producer)
        #expect(try await reader.next()?.summary == "resumed 7777")
        #expect(try await reader.next()?.summary == "omitted 3")
        #expect(try await reader.next()?.summary == "resumed 8888")
    }

    @Test
    func `rule 57: the latest progress is always delivered`() async {
        let (events, producer) = EventStream.make()
        Self.put((0..<5000).map { Self.progress($0) }, producer)
        Self.finish(producer)
        #expect(await Self.contents(events).suffix(2) == ["progress 4999", "end"])
    }

    @Test
    func `a reader that keeps up receives all progress`() async throws {
        let (events, producer) = EventStream.make()
        var reader = events.makeAsyncIterator()
        for count in 0..<50 {
            Self.put([Self.progress(Int64(count))], producer)
            #expect(try await reader.next()?.summary == "progress \(count)")
        }
    }

    @Test(arguments: [nil, DownloadError(.timedOut)])
    func `the end follows the unread events, and nothing follows the end`(_ error: DownloadError?) async {
        let (events, producer) = EventStream.make()
        Self.put([.verifying], producer)
        Self.finish(producer, error)
        Self.put([.waiting(reason: .turn)], producer)
        Self.finish(producer, DownloadError(.cannotConnect))
        #expect(await Self.contents(events) == ["verifying", error?.code.name ?? "end"])
    }

    @Test
    func `events of many threads are delivered in the order in which they were added`() async {
        let (events, producer) = EventStream.make()
        let numbers = NumberedEvents(producer)
        async let contents = Self.contents(events)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<20 { numbers.add() } }
            }
        }
        Self.finish(producer)
        #expect(await contents == (0..<80).map { "resumed \($0)" } + ["end"])
    }
}

/// Adds events with increasing numbers, each one in the same critical section as its number, as a transfer does.
private final class NumberedEvents: Sendable {
    private let producer: EventStream
    private let next = Mutex(Int64(0))

    init(_ producer: EventStream) {
        self.producer = producer
    }

    func add() {
        let effects = next.withLock { offset -> [DeferredEffect] in
            defer { offset += 1 }
            return producer.put([.resumed(fromOffset: offset)])
        }
        for effect in effects { effect() }
    }
}
