internal import Dispatch
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of syncs that serve several downloads.
@Suite(.endsWhenHung)
struct SyncQueueTests {
    private static let failure = FileFailure(.other, errno: 5, operation: "sync", name: "a file", reason: "it fails")

    /// A file system that records syncs, and holds the first one of each blocked object.
    private final class Disk: ForwardingFileSystem {
        let flushesAllFilesTogether: Bool
        private let calls = Mutex<[String]>([])
        private let blocked = Mutex<[String: (isBlocked: DispatchSemaphore, mayContinue: DispatchSemaphore)]>([:])
        private let failing: Set<String>

        init(flushesAllFilesTogether: Bool = false, failing: Set<String> = []) {
            self.flushesAllFilesTogether = flushesAllFilesTogether
            self.failing = failing
        }

        /// The calls so far: the name of a file or a directory, after "start" if its sync was only begun.
        var log: [String] { calls.withLock { $0 } }

        /// Blocks the next sync of the object until the second semaphore is signaled.
        func block(_ name: String) -> (isBlocked: DispatchSemaphore, mayContinue: DispatchSemaphore) {
            let semaphores = (isBlocked: DispatchSemaphore(value: 0), mayContinue: DispatchSemaphore(value: 0))
            blocked.withLock { $0[name] = semaphores }
            return semaphores
        }

        func synchronize(_ file: OpenFile) throws(FileFailure) { try record(file.name) }

        func startSynchronizing(_ file: OpenFile) throws(FileFailure) { try record("start \(file.name)") }

        func synchronizeDirectory(_ path: String) throws(FileFailure) { try record(path) }

        private func record(_ call: String) throws(FileFailure) {
            calls.withLock { $0.append(call) }
            if let (isBlocked, mayContinue) = blocked.withLock({ $0.removeValue(forKey: call) }) {
                isBlocked.signal()
                mayContinue.wait()
            }
            if failing.contains(call) { throw SyncQueueTests.failure }
        }
    }

    /// The results of requests, by the names of their objects.
    private final class Results: Sendable {
        private let failed = Mutex<[(name: String, hasFailed: Bool)]>([])

        func add(_ name: String, _ failure: FileFailure?) {
            failed.withLock { $0.append((name, failure != nil)) }
        }

        var count: Int { failed.withLock(\.count) }

        /// Returns the results when there are `count`, in the order of their arrival.
        func wait(for count: Int) async -> [(name: String, hasFailed: Bool)] {
            while true {
                let results = failed.withLock { $0 }
                if results.count == count { return results }
                await Task.yield()
            }
        }
    }

    private func request(_ names: [String], _ queue: SyncQueue, volume: UInt64 = 1, _ results: Results) {
        for name in names {
            let object: SyncQueue.Object =
                name.hasPrefix("/") ? .directory(name) : .file(OpenFile(number: 1, name: name))
            queue.add(object, on: volume) { results.add(name, $0) }
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

    @Test func `requests that come during a round share the next one, which syncs files before directories`() async {
        let (disk, results) = (Disk(), Results())
        let queue = SyncQueue(disk: disk)
        let (isBlocked, mayContinue) = disk.block("/a")
        request(["/a"], queue, results)
        await signaled(isBlocked)
        request(["/a", "x", "/b", "/a", "y", "/a"], queue, results)
        #expect(queue.waitingCount(on: 1) == 6)
        mayContinue.signal()
        let names = await results.wait(for: 7).map(\.name)
        #expect(names == ["/a", "x", "y", "/a", "/b", "/a", "/a"], "files are reported before directories")
        #expect(disk.log.prefix(5) == ["/a", "start x", "start y", "x", "y"])
        #expect(disk.log.dropFirst(5).sorted() == ["/a", "/b"])
        #expect(queue.waitingCount(on: 1) == 0)
    }

    @Test func `a volume that does not answer holds up no other, and a request without others is a round`() async {
        let (disk, results) = (Disk(), Results())
        let queue = SyncQueue(disk: disk)
        let (isBlocked, mayContinue) = disk.block("/a")
        request(["/a"], queue, volume: 1, results)
        await signaled(isBlocked)
        for count in 1...3 {
            request(["/b"], queue, volume: 2, results)
            #expect(await results.wait(for: count).count == count)
        }
        mayContinue.signal()
        #expect(await results.wait(for: 4).last?.name == "/a")
        #expect(disk.log == ["/a", "/b", "/b", "/b"])
    }

    @Test func `the failure of a directory is that of all requests`() async throws {
        let (disk, results) = (Disk(failing: ["/b"]), Results())
        let queue = SyncQueue(disk: disk)
        let (isBlocked, mayContinue) = disk.block("/a")
        request(["/a"], queue, results)
        await signaled(isBlocked)
        request(["/b", "/c", "/b"], queue, results)
        mayContinue.signal()
        let failed = await results.wait(for: 4).filter(\.hasFailed).map(\.name)
        #expect(failed == ["/b", "/b"])
        #expect(disk.log.count == 3)
    }

    @Test(arguments: [[], ["/b"]] as [Set<String>])
    func `threads that wait for a directory share a sync, and wait for no other`(_ failing: Set<String>) async throws {
        let (disk, results) = (Disk(failing: failing), Results())
        let syncs = DirectorySyncs(disk: disk)
        let (isBlocked, mayContinue) = disk.block("/b")
        for count in 0..<4 {
            BlockingThreads.run {
                do throws(FileFailure) {
                    try syncs.synchronize("/b")
                    results.add("/b", nil)
                } catch {
                    results.add("/b", error)
                }
            }
            if count == 0 { await signaled(isBlocked) }
        }
        while syncs.waitingCount(for: "/b") < 3 { await Task.yield() }
        try syncs.synchronize("/a")
        mayContinue.signal()
        #expect(await results.wait(for: 4).map(\.hasFailed) == Array(repeating: !failing.isEmpty, count: 4))
        #expect(disk.log == ["/b", "/a", "/b"])
        try syncs.synchronize("/a")
        #expect(disk.log == ["/b", "/a", "/b", "/a"])
    }

    @Test func `a sync of a directory that begins earlier doesn't serve a later call`() async throws {
        let (disk, results) = (Disk(), Results())
        let syncs = DirectorySyncs(disk: disk)
        // Each of the syncs is blocked, and another call comes during each of them.
        for count in 1...3 {
            let (isBlocked, mayContinue) = disk.block("/a")
            let first = results.count
            BlockingThreads.run {
                try? syncs.synchronize("/a")
                results.add("/a", nil)
            }
            await signaled(isBlocked)
            BlockingThreads.run {
                try? syncs.synchronize("/a")
                results.add("/a", nil)
            }
            while syncs.waitingCount(for: "/a") < 1 { await Task.yield() }
            #expect(results.count == first)
            mayContinue.signal()
            _ = await results.wait(for: first + 2)
            #expect(disk.log.count == 2 * count)
        }
    }

    /// - Parameters:
    ///   - unstarted: The files whose syncs cannot be started.
    ///   - unsynced: The files that cannot be synced.
    ///   - synced: The files that are synced, in order, where one sync can serve all files.
    @Test(
        arguments: [
            (files: ["x"], unstarted: [], unsynced: [], synced: ["x"]),
            (files: ["x"], unstarted: [], unsynced: ["x"], synced: ["x"]),
            (files: ["x", "y", "z"], unstarted: [], unsynced: [], synced: ["x"]),
            (files: ["x", "y", "z"], unstarted: ["x"], unsynced: [], synced: ["y"]),
            (files: ["x", "y", "z"], unstarted: ["z"], unsynced: [], synced: ["x"]),
            (files: ["x", "y", "z"], unstarted: [], unsynced: ["x"], synced: ["x", "y", "z"]),
            (files: ["x", "y", "z"], unstarted: ["y"], unsynced: ["x", "z"], synced: ["x", "z"]),
            (files: ["x", "y", "z"], unstarted: [], unsynced: ["x", "y", "z"], synced: ["x", "y", "z"]),
        ] as [(files: [String], unstarted: Set<String>, unsynced: Set<String>, synced: [String])], [true, false])
    func `rule 45: a file fails alone, and no sync is repeated after a failure`(
        row: (files: [String], unstarted: Set<String>, unsynced: Set<String>, synced: [String]),
        flushesAllFilesTogether: Bool
    ) async {
        let failing = row.unsynced.union(row.unstarted.map { "start \($0)" })
        let (disk, results) = (Disk(flushesAllFilesTogether: flushesAllFilesTogether, failing: failing), Results())
        let queue = SyncQueue(disk: disk)
        let (isBlocked, mayContinue) = disk.block("/a")
        request(["/a"], queue, results)
        await signaled(isBlocked)
        request(row.files, queue, results)
        mayContinue.signal()
        let outcome = await results.wait(for: row.files.count + 1)
        #expect(Set(outcome.filter(\.hasFailed).map(\.name)) == row.unstarted.union(row.unsynced))
        let synced = disk.log.filter(row.files.contains)
        #expect(synced == (flushesAllFilesTogether ? row.synced : row.files.filter { !row.unstarted.contains($0) }))
    }
}
