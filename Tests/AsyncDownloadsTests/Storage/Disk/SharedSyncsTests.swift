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
    private let mayEnd = DispatchSemaphore(value: 0)

    @Test func `threads that come during a sync share the next one`() async throws {
        let count = Count()
        let group = DispatchGroup()
        syncUntilSignaled(in: group)
        for _ in 0..<8 { run(in: group) { try syncs.synchronize("/a") { count.increment() } } }
        // Another directory doesn't wait.
        try syncs.synchronize("/b") { count.increment() }
        while syncs.waiterCount(of: "/a") < 8 { await Task.yield() }
        await end(group)
        #expect(count.value == 2, "one sync of /b, and one of /a for the eight threads")
        #expect(syncs.waiterCount(of: "/a") == 0)
    }

    @Test func `threads that come during a shared sync share the one after it`() async throws {
        let count = Count()
        let (group, others) = (DispatchGroup(), DispatchGroup())
        let (isSecond, mayEndSecond) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        syncUntilSignaled(in: group)
        for _ in 0..<3 {
            run(in: group) {
                try syncs.synchronize("/a") {
                    count.increment()
                    isSecond.signal()
                    mayEndSecond.wait()
                }
            }
        }
        while syncs.waiterCount(of: "/a") < 3 { await Task.yield() }
        mayEnd.signal()
        await signaled(isSecond)
        for _ in 0..<3 { run(in: others) { try syncs.synchronize("/a") { count.increment() } } }
        while syncs.waiterCount(of: "/a") < 3 { await Task.yield() }
        mayEndSecond.signal()
        await ended(group)
        await ended(others)
        #expect(count.value == 2)
    }

    @Test func `each call without others syncs`() throws {
        let count = Count()
        for _ in 0..<3 { try syncs.synchronize("/a") { count.increment() } }
        #expect(count.value == 3)
    }

    @Test func `the failure of a sync is that of all threads that waited for it`() async throws {
        let (count, failures) = (Count(), Count())
        let group = DispatchGroup()
        syncUntilSignaled(in: group)
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
        while syncs.waiterCount(of: "/a") < 4 { await Task.yield() }
        await end(group)
        #expect(count.value == 1)
        #expect(failures.value == 4)
    }

    /// Begins a sync of `/a`, which lasts until ``end(_:)`` is called.
    private func syncUntilSignaled(in group: DispatchGroup) {
        let isRunning = DispatchSemaphore(value: 0)
        run(in: group) {
            try syncs.synchronize("/a") {
                isRunning.signal()
                mayEnd.wait()
            }
        }
        isRunning.wait()
    }

    /// Ends the first sync, and waits until no thread waits any more.
    private func end(_ group: DispatchGroup) async {
        mayEnd.signal()
        await ended(group)
    }

    private func ended(_ group: DispatchGroup) async {
        await withCheckedContinuation { continuation in
            group.notify(queue: .global()) { continuation.resume() }
        }
    }

    private func signaled(_ semaphore: DispatchSemaphore) async {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "waits").async {
                semaphore.wait()
                continuation.resume()
            }
        }
    }

    private func run(in group: DispatchGroup, _ body: @escaping @Sendable () throws -> Void) {
        // Each thread may wait for the others.
        DispatchQueue(label: "syncs").async(group: group) {
            do { try body() } catch { Issue.record(error) }
        }
    }
}
