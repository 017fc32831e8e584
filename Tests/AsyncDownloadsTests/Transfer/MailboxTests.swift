internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("Mailbox", .endsWhenHung)
struct MailboxTests {
    private static func progress(_ count: Int64) -> DownloadEvent {
        .progress(DownloadProgress(receivedByteCount: count))
    }

    /// What is in it, in order, and "end" or the error's code after that.
    private static func contents(_ mailbox: inout Mailbox) -> [String] {
        var contents: [String] = []
        while let delivery = mailbox.take() {
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
        var mailbox = Mailbox()
        for event in [
            DownloadEvent.waiting, Self.progress(1), Self.progress(2), .verifying, Self.progress(3), Self.progress(4),
        ] {
            let wakeups = mailbox.put(event)
            #expect(wakeups.isEmpty)
        }
        #expect(Self.contents(&mailbox) == ["waiting", "progress 2", "verifying", "progress 4"])
    }

    @Test("rule 57: what is not progress is never lost on a consumer, however slow")
    func lifecycle() {
        var mailbox = Mailbox()
        mailbox.isClaimed = true
        for offset in 0..<1000 { _ = mailbox.put(.resumed(fromOffset: Int64(offset))) }
        #expect(Self.contents(&mailbox) == (0..<1000).map { "resumed \($0)" })
    }

    @Test("a mailbox that nobody reads keeps the latest hundred")
    func unread() {
        var mailbox = Mailbox()
        for offset in 0..<1000 { _ = mailbox.put(.resumed(fromOffset: Int64(offset))) }
        #expect(Self.contents(&mailbox) == (900..<1000).map { "resumed \($0)" })
    }

    @Test("the end comes after what is in it, and for ever")
    func orderlyEnd() {
        var mailbox = Mailbox()
        _ = mailbox.put(.verifying)
        #expect(mailbox.finish(nil).count == 0)
        #expect(Self.contents(&mailbox) == ["verifying", "end"])
        #expect(Self.contents(&mailbox) == ["end"])
    }

    @Test("an error is thrown once, and then the stream has ended")
    func error() {
        var mailbox = Mailbox()
        _ = mailbox.finish(DownloadError(.timedOut))
        #expect(Self.contents(&mailbox) == ["timedOut", "end"])
    }

    @Test("after the end nothing is taken in, and no other end")
    func afterTheEnd() {
        var mailbox = Mailbox()
        _ = mailbox.finish(nil)
        _ = mailbox.put(.waiting)
        _ = mailbox.finish(DownloadError(.timedOut))
        #expect(Self.contents(&mailbox) == ["end"])
    }

    @Test("an empty mailbox has nothing to deliver until it ends")
    func empty() {
        var mailbox = Mailbox()
        #expect(mailbox.take() == nil)
    }

    @Test("who waits gets the next event, and no one else does")
    func waiting() async throws {
        var mailbox = Mailbox()
        let delivery = await withCheckedContinuation { continuation in
            _ = mailbox.wait(continuation)
            for wakeup in mailbox.put(Self.progress(1)) { wakeup() }
        }
        #expect(try delivery.get()?.summary == "progress 1")
        #expect(mailbox.take() == nil)
        #expect(mailbox.put(.waiting).count == 0)
    }

    @Test("who waits gets the end, or the error, once")
    func waitingForTheEnd() async throws {
        for error in [nil, DownloadError(.timedOut)] {
            var mailbox = Mailbox()
            let delivery = await withCheckedContinuation { continuation in
                _ = mailbox.wait(continuation)
                for wakeup in mailbox.finish(error) { wakeup() }
            }
            switch delivery {
            case .success(let event): #expect(event == nil && error == nil)
            case .failure(let thrown): #expect(thrown.code == error?.code)
            }
            #expect(Self.contents(&mailbox) == ["end"])
        }
    }

    @Test("of two that wait the earlier gets the end, and the later the event")
    func twoWaiters() async throws {
        let mailbox = Held(Mailbox())
        await withCheckedContinuation { waits in
            let task = Task {
                await withCheckedContinuation { continuation in
                    _ = mailbox.value.withLock { $0.wait(continuation) }
                    waits.resume()
                }
            }
            mailbox.task.withLock { $0 = task }
        }
        let later = await withCheckedContinuation { continuation in
            let first = mailbox.value.withLock { $0.wait(continuation) }
            let second = mailbox.value.withLock { $0.put(.verifying) }
            for wakeup in first + second { wakeup() }
        }
        let first = try #require(mailbox.task.withLock { $0 })
        #expect(try await first.value.get() == nil)
        #expect(try later.get()?.summary == "verifying")
    }

    /// A mailbox that two tasks can reach.
    private final class Held: Sendable {
        let value: Mutex<Mailbox>
        let task = Mutex<Task<Mailbox.Delivery, Never>?>(nil)

        init(_ mailbox: consuming Mailbox) {
            value = Mutex(mailbox)
        }
    }
}
