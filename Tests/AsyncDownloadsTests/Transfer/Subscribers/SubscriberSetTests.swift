internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("Subscribers", .endsWhenHung)
struct SubscriberSetTests {
    private static func request(_ name: String, _ priority: DownloadRequest.Priority = .normal) -> DownloadRequest {
        DownloadRequest(
            from: .sample("https://a.example/file").appending(queryItems: [URLQueryItem(name: "caller", value: name)]),
            to: URL(fileURLWithPath: "/tmp/\(name)"), priority: priority)
    }

    private static let file = DownloadedFile(
        url: URL(fileURLWithPath: "/tmp/a"), byteCount: 7, fetchedByteCount: 7,
        finalURL: .sample("https://a.example/file"))

    private static func heard(_ subscribers: inout SubscriberSet, _ number: SubscriberID) -> [String] {
        subscribers.update(number) { subscriber in
            var heard: [String] = []
            for id in subscriber.buffers.keys {
                while case .success(let event?)? = subscriber.buffers[id]?.take() { heard.append(event.summary) }
            }
            return heard
        } ?? []
    }

    @Test("everyone who waits hears of everything, the paused not of progress")
    func telling() {
        var subscribers = SubscriberSet()
        let first = subscribers.add(Self.request("a"))
        let second = subscribers.add(Self.request("b"))
        _ = subscribers.setPaused(true, second, at: .zero)
        #expect(subscribers.emit(.verifying).count == 0)
        #expect(subscribers.emit(.progress(DownloadProgress(receivedByteCount: 5))).count == 0)
        #expect(Self.heard(&subscribers, first) == ["verifying", "progress 5"])
        #expect(Self.heard(&subscribers, second) == ["verifying"])
    }

    @Test("all are paused when each who still waits is")
    func pausing() {
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

    @Test("callers are active until their outcome is known, in the order in which they came")
    func active() {
        var subscribers = SubscriberSet()
        let numbers = (0..<20).map { subscribers.add(Self.request("\($0)")) }
        #expect(subscribers.active.map(\.id) == numbers)
        #expect(Set(numbers).count == 20)
        _ = subscribers.end(numbers[3], .success(Self.file))
        #expect(subscribers.active.count == 19)
        #expect(!subscribers.isEmpty)
        #expect(subscribers.all[numbers[3]] != nil)
    }

    @Test("the priority is that of the most urgent who still waits")
    func priority() {
        var subscribers = SubscriberSet()
        #expect(subscribers.priority == .low)
        _ = subscribers.add(Self.request("a", .normal))
        let urgent = subscribers.add(Self.request("b", .high))
        #expect(subscribers.priority == .high)
        _ = subscribers.end(urgent, .failure(DownloadError(.cancelled)))
        #expect(subscribers.priority == .normal)
    }

    @Test("each caller gets its own result of a finished transfer, and one without a result an error")
    func finished() throws {
        var subscribers = SubscriberSet()
        let numbers = ["a", "b", "c"].map { subscribers.add(Self.request($0)) }
        _ = subscribers.end(
            .finished([numbers[0]: .success(Self.file), numbers[1]: .failure(DownloadError(.checksumMismatch))]))
        #expect(try subscribers.all[numbers[0]]?.outcome?.get() == Self.file)
        #expect(Self.code(subscribers, numbers[1]) == .checksumMismatch)
        #expect(Self.code(subscribers, numbers[2]) == .storageFailure)
        #expect(Self.heard(&subscribers, numbers[0]) == ["finished 7"])
    }

    @Test("an error speaks of the URL that its caller asked for")
    func errors() throws {
        var subscribers = SubscriberSet()
        let numbers = ["a", "b"].map { subscribers.add(Self.request($0)) }
        _ = subscribers.end(.failed(DownloadError(.timedOut, retainedByteCount: 9)))
        for number in numbers {
            let subscriber = try #require(subscribers.all[number])
            guard case .failure(let error)? = subscriber.outcome else {
                Issue.record("no error")
                continue
            }
            #expect(error.url == subscriber.request.url)
            #expect(error.code == .timedOut)
            #expect(error.retainedByteCount == 9)
        }
    }

    @Test("a transfer that was left or discarded is cancelled for whoever is still there")
    func cancelled() {
        for ending in [TransferEnding.abandoned, .discarded] {
            var subscribers = SubscriberSet()
            let number = subscribers.add(Self.request("a"))
            _ = subscribers.end(ending)
            #expect(Self.code(subscribers, number) == .cancelled)
        }
    }

    @Test("an outcome is final")
    func final() {
        var subscribers = SubscriberSet()
        let number = subscribers.add(Self.request("a"))
        _ = subscribers.end(number, .failure(DownloadError(.superseded)))
        _ = subscribers.end(.finished([number: .success(Self.file)]))
        _ = subscribers.emit(.verifying)
        #expect(Self.code(subscribers, number) == .superseded)
        #expect(Self.heard(&subscribers, number).isEmpty)
    }

    @Test("whoever awaits the outcome is woken with it, once")
    func waiters() async throws {
        var subscribers = SubscriberSet()
        let number = subscribers.add(Self.request("a"))
        let outcome = await withCheckedContinuation { continuation in
            _ = subscribers.update(number) { $0.waiters[99] = { continuation.resume(returning: $0) } }
            #expect(subscribers.all[number]?.hasConsumers == true)
            for effect in subscribers.end(.finished([number: .success(Self.file)])) { effect() }
        }
        #expect(try outcome.get() == Self.file)
        #expect(subscribers.all[number]?.waiters.isEmpty == true)
    }

    @Test("a caller is heard while a stream was handed out or an outcome is awaited")
    func consumers() {
        var subscribers = SubscriberSet()
        let number = subscribers.add(Self.request("a"))
        #expect(subscribers.all[number]?.hasConsumers == false)
        _ = subscribers.update(number) { subscriber in
            for id in subscriber.buffers.keys { subscriber.buffers[id]?.isClaimed = true }
        }
        #expect(subscribers.all[number]?.hasConsumers == true)
    }

    @Test("who is unknown cannot be changed")
    func unknown() {
        var subscribers = SubscriberSet()
        #expect(subscribers.update(7) { _ in 1 } == nil)
    }

    private static func code(_ subscribers: SubscriberSet, _ number: SubscriberID) -> DownloadError.Code? {
        guard case .failure(let error)? = subscribers.all[number]?.outcome else { return nil }
        return error.code
    }
}
