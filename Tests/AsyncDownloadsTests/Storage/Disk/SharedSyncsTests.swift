internal import Dispatch
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The number of times that something has happened.
private final class Count: Sendable {
    private let number = Mutex(0)

    var value: Int { number.withLock { $0 } }

    func increment() { number.withLock { $0 += 1 } }
}

/// Tests of syncs that serve several threads.
@Suite("Shared syncs of directories", .endsWhenHung)
struct SharedSyncsTests {
    private let syncs = SharedSyncs()

    @Test func `threads that come during a sync share the next one`() async throws {
        let count = Count()
        let (isRunning, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let group = DispatchGroup()
        run(in: group) {
            try syncs.synchronize("/a") {
                count.increment()
                isRunning.signal()
                mayEnd.wait()
            }
        }
        isRunning.wait()
        for _ in 0..<8 { run(in: group) { try syncs.synchronize("/a") { count.increment() } } }
        // Another directory doesn't wait.
        try syncs.synchronize("/b") { count.increment() }
        while syncs.userCount(of: "/a") < 9 { await Task.yield() }
        mayEnd.signal()
        await withCheckedContinuation { continuation in
            group.notify(queue: .global()) { continuation.resume() }
        }
        #expect(count.value == 3, "one sync of /b, the first one of /a, and one for the eight others")
        #expect(syncs.userCount(of: "/a") == 0)
    }

    @Test func `each call without others syncs`() throws {
        let count = Count()
        for _ in 0..<3 { try syncs.synchronize("/a") { count.increment() } }
        #expect(count.value == 3)
    }

    @Test func `the failure of a sync is that of all threads that waited for it`() async throws {
        let (count, failures) = (Count(), Count())
        let (isRunning, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let group = DispatchGroup()
        run(in: group) {
            try syncs.synchronize("/a") {
                isRunning.signal()
                mayEnd.wait()
            }
        }
        isRunning.wait()
        for _ in 0..<4 {
            run(in: group) {
                do throws(FileFailure) {
                    try syncs.synchronize("/a") { () throws(FileFailure) in
                        count.increment()
                        throw FileFailure(.other, errno: 5, operation: "sync", name: "a", reason: "it fails")
                    }
                } catch {
                    failures.increment()
                }
            }
        }
        while syncs.userCount(of: "/a") < 5 { await Task.yield() }
        mayEnd.signal()
        await withCheckedContinuation { continuation in
            group.notify(queue: .global()) { continuation.resume() }
        }
        #expect(count.value == 1)
        #expect(failures.value == 4)
    }

    private func run(in group: DispatchGroup, _ body: @escaping @Sendable () throws -> Void) {
        DispatchQueue.global().async(group: group) {
            do { try body() } catch { Issue.record(error) }
        }
    }
}
