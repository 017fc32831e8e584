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

    @Test("rule 57: what is not progress is kept in order while fewer than a hundred events are unread")
    func lifecycle() {
        var mailbox = Mailbox()
        mailbox.isClaimed = true
        for offset in 0..<100 { _ = mailbox.put(.resumed(fromOffset: Int64(offset))) }
        #expect(Self.contents(&mailbox) == (0..<100).map { "resumed \($0)" })
    }

    @Test(
        "no consumer has more than a hundred unread events, and it learns how many were left out",
        arguments: [true, false])
    func bounded(_ isClaimed: Bool) {
        var mailbox = Mailbox()
        mailbox.isClaimed = isClaimed
        for offset in 0..<20_000 { _ = mailbox.put(.resumed(fromOffset: Int64(offset))) }
        #expect(Self.contents(&mailbox) == ["omitted 19900"] + (19_900..<20_000).map { "resumed \($0)" })
        // Told once: what comes after it has been read is complete again.
        _ = mailbox.put(.verifying)
        #expect(Self.contents(&mailbox) == ["verifying"])
    }

    @Test("a full mailbox leaves out the oldest event of the kind that comes, and says so in its place")
    func oneKind() {
        var mailbox = Self.full()
        for offset in 50..<60 { _ = mailbox.put(.resumed(fromOffset: Int64(offset))) }
        let restarts = (0..<48).map { "restarted contentChanged \($0)" }
        #expect(
            Self.contents(&mailbox)
                == ["waiting", "started 5 resumable"] + restarts + ["omitted 10"] + (10..<60).map { "resumed \($0)" })
    }

    @Test("a full mailbox leaves out its oldest event where it has none of the kind that comes")
    func oldest() {
        var mailbox = Self.full()
        _ = mailbox.put(.paused(receivedByteCount: 5))
        _ = mailbox.put(.verifying)
        _ = mailbox.put(.paused(receivedByteCount: 6))
        let contents = Self.contents(&mailbox)
        #expect(contents.prefix(2) == ["omitted 2", "restarted contentChanged 0"])
        #expect(contents.suffix(4) == ["resumed 49", "omitted 1", "verifying", "paused 6"])
        #expect(contents.count == 102)
    }

    @Test("gaps that meet are told as one")
    func meetingGaps() {
        var mailbox = Mailbox()
        for _ in 0..<50 {
            _ = mailbox.put(.resumed(fromOffset: 1))
            _ = mailbox.put(.restarted(reason: .contentChanged, discardedByteCount: 1))
        }
        for _ in 0..<50 {
            _ = mailbox.put(.resumed(fromOffset: 2))
            _ = mailbox.put(.restarted(reason: .contentChanged, discardedByteCount: 2))
        }
        let contents = Self.contents(&mailbox)
        #expect(contents.first == "omitted 100")
        #expect(contents.count == 101)
        #expect(contents.allSatisfy { !$0.hasSuffix(" 1") })
    }

    @Test("progress that newer progress replaces is not counted")
    func replacedProgress() {
        var mailbox = Mailbox()
        _ = mailbox.put(Self.progress(1))
        for offset in 0..<99 { _ = mailbox.put(.resumed(fromOffset: Int64(offset))) }
        _ = mailbox.put(Self.progress(2))
        #expect(Self.contents(&mailbox) == (0..<99).map { "resumed \($0)" } + ["progress 2"])
    }

    @Test("the last event and the error are never left out", arguments: [nil, DownloadError(.timedOut)])
    func terminal(_ error: DownloadError?) {
        var mailbox = Self.full()
        if error == nil {
            _ = mailbox.put(
                .finished(
                    .init(
                        url: .sample("file:///a"), byteCount: 5, fetchedByteCount: 5,
                        finalURL: .sample("https://a.example/"))))
        }
        _ = mailbox.finish(error)
        let contents = Self.contents(&mailbox)
        #expect(contents.last == "end")
        #expect(contents.contains("timedOut") == (error != nil))
        #expect(contents.contains("finished 5") == (error == nil))
        #expect(contents.first == (error == nil ? "omitted 1" : "waiting"))
    }

    @Test("a gap that is told leaves the event after it for the next call")
    func gapFirst() throws {
        var mailbox = Mailbox()
        for offset in 0..<101 { _ = mailbox.put(.resumed(fromOffset: Int64(offset))) }
        #expect(try mailbox.take()?.get()?.summary == "omitted 1")
        #expect(try mailbox.take()?.get()?.summary == "resumed 1")
    }

    /// A mailbox of a hundred unread events of four kinds.
    private static func full() -> Mailbox {
        var mailbox = Mailbox()
        _ = mailbox.put(.waiting)
        _ = mailbox.put(.started(expectedByteCount: 5, isResumable: true))
        for count in 0..<48 { _ = mailbox.put(.restarted(reason: .contentChanged, discardedByteCount: Int64(count))) }
        for offset in 0..<50 { _ = mailbox.put(.resumed(fromOffset: Int64(offset))) }
        return mailbox
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
