internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

extension SubscriberSet {
    /// Adds a subscriber with the policies of its request.
    fileprivate mutating func add(_ request: DownloadRequest) -> SubscriberID {
        add(DownloadID(), request, ResolvedPolicies(request, Downloader.Configuration()), at: .zero)
    }
}

/// The set of subscribers of a transfer.
@Suite(.endsWhenHung)
struct SubscriberSetTests {
    private static func request(_ name: String, _ priority: DownloadRequest.Priority = .normal) -> DownloadRequest {
        DownloadRequest(
            from: .sample("https://a.example/file").appending(queryItems: [URLQueryItem(name: "caller", value: name)]),
            to: URL(fileURLWithPath: "/tmp/\(name)"), priority: priority)
    }

    private static let file = DownloadedFile(
        url: URL(fileURLWithPath: "/tmp/a"), byteCount: 7, fetchedByteCount: 7,
        finalURL: .sample("https://a.example/file"))

    /// Returns the events that the first stream of a subscriber would deliver.
    private static func received(_ subscribers: SubscriberSet, _ number: SubscriberID) -> [String] {
        subscribers[number]?.history?.contents.map(\.summary) ?? []
    }

    @Test
    func `active subscribers receive every event, and paused ones receive no progress`() {
        var subscribers = SubscriberSet()
        let first = subscribers.add(Self.request("a"))
        let second = subscribers.add(Self.request("b"))
        _ = subscribers.setPaused(true, second, at: .zero)
        #expect(subscribers.emit(.verifying).count == 0)
        #expect(subscribers.emit(.progress(DownloadProgress(receivedByteCount: 5))).count == 0)
        #expect(Self.received(subscribers, first) == ["verifying", "progress 5"])
        #expect(Self.received(subscribers, second) == ["verifying"])
    }

    @Test
    func `the set is paused if every active subscriber is paused`() {
        var subscribers = SubscriberSet()
        #expect(!subscribers.arePaused)
        let numbers = ["a", "b", "c"].map { subscribers.add(Self.request($0)) }
        for number in numbers.dropLast() {
            _ = subscribers.setPaused(true, number, at: .zero)
            #expect(!subscribers.arePaused)
        }
        _ = subscribers.end(numbers[2], .failure(DownloadError(.cancelled)))
        #expect(subscribers.arePaused)
        _ = subscribers.end(.abandoned)
        #expect(!subscribers.arePaused)
        #expect(subscribers.isEmpty)
    }

    @Test
    func `subscribers are active until their outcome is known, in the order in which they were added`() {
        var subscribers = SubscriberSet()
        let numbers = (0..<20).map { subscribers.add(Self.request("\($0)")) }
        #expect(subscribers.active.map(\.id) == numbers)
        #expect(Set(numbers).count == 20)
        _ = subscribers.end(numbers[3], .success(Self.file))
        #expect(subscribers.activeCount == 19)
        #expect(!subscribers.isEmpty)
        #expect(subscribers[numbers[3]] != nil)
    }

    @Test
    func `the priority is that of the most urgent active subscriber`() {
        var subscribers = SubscriberSet()
        #expect(subscribers.priority == .low)
        _ = subscribers.add(Self.request("a", .normal))
        let urgent = subscribers.add(Self.request("b", .high))
        #expect(subscribers.priority == .high)
        _ = subscribers.end(urgent, .failure(DownloadError(.cancelled)))
        #expect(subscribers.priority == .normal)
    }

    @Test
    func `each subscriber of a finished transfer gets its own result, or an error if it has none`() throws {
        var subscribers = SubscriberSet()
        let numbers = ["a", "b", "c"].map { subscribers.add(Self.request($0)) }
        _ = subscribers.end(
            .finished([numbers[0]: .success(Self.file), numbers[1]: .failure(DownloadError(.checksumMismatch))]))
        #expect(try subscribers[numbers[0]]?.outcome?.get() == Self.file)
        #expect(Self.code(subscribers, numbers[1]) == .checksumMismatch)
        #expect(Self.code(subscribers, numbers[2]) == .storageFailure)
        #expect(Self.received(subscribers, numbers[0]) == ["finished 7"])
    }

    @Test
    func `an error has the URL that its subscriber requested`() throws {
        var subscribers = SubscriberSet()
        let numbers = ["a", "b"].map { subscribers.add(Self.request($0)) }
        _ = subscribers.end(.failed(DownloadError(.timedOut, retainedByteCount: 9)))
        for number in numbers {
            let subscriber = try #require(subscribers[number])
            guard case .failure(let error)? = subscriber.outcome else {
                Issue.record("no error")
                continue
            }
            #expect(error.url == subscriber.request.url)
            #expect(error.code == .timedOut)
            #expect(error.retainedByteCount == 9)
        }
    }

    @Test
    func `an abandoned or discarded transfer ends with a cancellation for its subscribers`() {
        for ending in [TransferEnding.abandoned, .discarded] {
            var subscribers = SubscriberSet()
            let number = subscribers.add(Self.request("a"))
            _ = subscribers.end(ending)
            #expect(Self.code(subscribers, number) == .cancelled)
        }
    }

    @Test
    func `an outcome is final`() {
        var subscribers = SubscriberSet()
        let number = subscribers.add(Self.request("a"))
        _ = subscribers.end(number, .failure(DownloadError(.superseded)))
        _ = subscribers.end(.finished([number: .success(Self.file)]))
        _ = subscribers.emit(.verifying)
        #expect(Self.code(subscribers, number) == .superseded)
        #expect(Self.received(subscribers, number).isEmpty)
    }

    @Test
    func `each waiter receives the outcome once`() async throws {
        var subscribers = SubscriberSet()
        let number = subscribers.add(Self.request("a"))
        let outcome = await withCheckedContinuation { continuation in
            _ = subscribers.update(number) {
                $0.waiters.insert({ continuation.resume(returning: $0) }, id: WaiterID(rawValue: 99))
            }
            #expect(subscribers[number]?.hasConsumers == true)
            for effect in subscribers.end(.finished([number: .success(Self.file)])) { effect() }
        }
        #expect(try outcome.get() == Self.file)
        #expect(subscribers[number]?.waiters.isEmpty == true)
    }

    @Test
    func `a subscriber has consumers while a stream is open or its outcome is awaited`() {
        var subscribers = SubscriberSet()
        let number = subscribers.add(Self.request("a"))
        #expect(subscribers[number]?.hasConsumers == false)
        let (_, stream) = EventStream.make()
        var effects: [DeferredEffect] = []
        let id = subscribers.openStream(stream, of: number, &effects) { _ in [] }
        #expect(subscribers[number]?.hasConsumers == true)
        _ = subscribers.update(number) { $0.closeStream(id) }
        #expect(subscribers[number]?.hasConsumers == false)
    }

    @Test
    func `the downloads to record are those that can still be continued`() {
        var subscribers = SubscriberSet()
        let numbers = ["a", "b", "c"].map { subscribers.add(Self.request($0)) }
        func names() -> [String] { subscribers.recorded.map { $0.request.destination.path ?? "" } }
        #expect(names() == ["/tmp/a", "/tmp/b", "/tmp/c"])
        _ = subscribers.end(numbers[1], .failure(DownloadError(.cancelled)))
        #expect(names() == ["/tmp/a", "/tmp/c"])
        _ = subscribers.end(numbers[0], .failure(DownloadError(.shutDown)))
        _ = subscribers.end(numbers[2], .failure(DownloadError(.shutDown)))
        #expect(names() == ["/tmp/a", "/tmp/c"])
        _ = subscribers.add(Self.request("d"))
        #expect(names() == ["/tmp/d"])
    }

    @Test
    func `an unknown subscriber cannot be changed`() {
        var subscribers = SubscriberSet()
        #expect(subscribers.update(7) { _ in 1 } == nil)
    }

    private static func code(_ subscribers: SubscriberSet, _ number: SubscriberID) -> DownloadError.Code? {
        guard case .failure(let error)? = subscribers[number]?.outcome else { return nil }
        return error.code
    }
}
