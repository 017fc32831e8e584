internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests that each partial has one owner, with the locks of a real disk and without locks (rule 50).
@Suite("Ownership", .endsWhenHung)
struct OwnershipTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test func `rule 50: a second owner is refused until the first one closes`() throws {
        let store = PartialStore()
        let first = try store.open(directory.location)
        let error = #expect(throws: DownloadError.self) { try store.open(directory.location) }
        #expect(error?.code == .partialInUse)
        #expect(error?.isRetryable == true)
        first.close()
        let second = try store.open(directory.location)
        #expect(second.finding == .nothing)
    }

    @Test func `rule 50: a released lock has no owner, although a child process has inherited the open file`() throws {
        let names = PartialStore().names(of: directory.location)
        let lock = try PartialLock.acquire(names, on: POSIXFileSystem())
        let inherited = dup(try #require(lock.handle).number)
        defer { _ = close(inherited) }
        lock.release(removing: false)
        let next = try PartialLock.acquire(names, on: POSIXFileSystem())
        next.release(removing: true)
    }

    @Test func `a partial that is released without a close has no owner`() throws {
        do {
            let partial = try PartialStore().open(directory.location)
            try partial.begin(SampleObject.first.representation)
            try partial.write(.first, 0..<100)
            try partial.save(IntervalSet(0..<100))
        }
        #expect(
            try PartialStore().open(directory.location).finding
                == .bytes(SampleObject.first.representation, IntervalSet(0..<100)))
    }

    @Test func `partials of different requests have different owners`() throws {
        let first = try PartialStore().open(directory.location)
        var location = directory.location
        location.request.url += "?v=2"
        let second = try PartialStore().open(location)
        first.close()
        second.close()
    }

    @Test(arguments: [PretendingFileSystem.Locks.pretended, .missing])
    func `rule 50: where locks do not work, the last process to open the partial owns it`(
        locks: PretendingFileSystem.Locks
    ) throws {
        let store = PartialStore(
            disk: PretendingFileSystem(locks: locks, volume: .other), durability: .powerLoss, bootID: "boot")
        let first = try store.open(directory.location)
        try first.begin(SampleObject.first.representation)
        try first.write(.first, 0..<300)
        try first.save(IntervalSet(0..<300))

        let second = try store.open(directory.location)
        #expect(second.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<300)))
        try second.write(.first, 300..<400)

        let error = #expect(throws: DownloadError.self) { try first.save(IntervalSet(0..<300)) }
        #expect(error?.code == .partialInUse)
        #expect(throws: DownloadError.self, "no more bytes are accepted") { try first.write(.first, 300..<400) }
        #expect(first.close().isEmpty, "the bytes belong to the second owner")

        try second.finish(.first, IntervalSet(0..<400), at: directory.destination)
        #expect(directory.bytes(at: directory.destination) == SampleObject.first.bytes())
        #expect(try directory.contents == ["file.zip"])
    }

    @Test func `a mark detects the loss of ownership`() throws {
        let store = PartialStore(disk: PretendingFileSystem(locks: .missing), durability: .powerLoss, bootID: "boot")
        let first = try store.open(directory.location)
        try first.begin(SampleObject.first.representation)
        try first.write(.first, 0..<300)
        try first.save(IntervalSet(0..<300))
        let second = try store.open(directory.location)
        first.mark(IntervalSet(0..<300))
        let error = #expect(throws: DownloadError.self) { try first.write(.first, 300..<400) }
        #expect(error?.code == .partialInUse)
        #expect(first.place(at: [directory.destination], length: 300).allSatisfy { $0.isFailure })
        second.close()
    }

    @Test(arguments: ["mark", "save", "place"])
    func `rule 44: a deleted directory is not reported as a loss of ownership`(noticing: String) throws {
        let partial = try PartialStore().open(directory.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<300)
        try partial.save(IntervalSet(0..<300))
        try FileManager.default.removeItem(atPath: directory.path)
        switch noticing {
        case "mark": partial.mark(IntervalSet(0..<300))
        case "save": #expect(throws: DownloadError.self) { try partial.save(IntervalSet(0..<300)) }
        default: #expect(partial.place(at: [directory.destination], length: 300).allSatisfy { $0.isFailure })
        }
        let error = #expect(throws: DownloadError.self) { try partial.write(.first, 300..<400) }
        #expect(error?.code == .destinationUnusable)
        #expect(partial.close().isEmpty, "no bytes are kept")
    }

    @Test func `without locks, two processes that start at the same time write two files`() throws {
        let store = PartialStore(disk: PretendingFileSystem(locks: .missing), durability: .powerLoss, bootID: "boot")
        let first = try store.open(directory.location)
        let second = try store.open(directory.location)
        try first.begin(SampleObject.first.representation)
        try second.begin(SampleObject.second.representation)
        try first.write(.first, 0..<1000)
        try second.write(.second, 0..<1000)
        for (partial, object) in [(first, SampleObject.first), (second, .second)] {
            try partial.place(at: [directory.destination], length: 1000)[0].get()
            #expect(directory.bytes(at: directory.destination) == object.bytes())
        }
    }

    @Test func `a lock file that was replaced before it was locked is not used`() throws {
        let path = directory.names.lock
        let counter = Counter()
        let files = PretendingFileSystem(
            locks: .working {
                guard counter.enter() == 1 else { return }
                let files = POSIXFileSystem()
                try? files.remove(path)
                if let other = try? files.open(path, .new) { files.close(other) }
            })
        let lock = try PartialLock.acquire(directory.names, on: files)
        #expect(counter.enter() == 3, "the second attempt succeeds")
        #expect(throws: FileFailure.self) { try PartialLock.acquire(directory.names, on: POSIXFileSystem()) }
        lock.release(removing: true)
        #expect(try directory.contents.isEmpty)
    }

    @Test func `one of many concurrent openers owns the partial`() async throws {
        let location = directory.location
        let counter = Counter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<50 {
                        do {
                            let partial = try PartialStore(durability: .processCrash).open(location)
                            #expect(counter.enter() == 1)
                            try partial.begin(SampleObject.first.representation)
                            counter.leave()
                            partial.close()
                        } catch let error as DownloadError where error.code == .partialInUse {}
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try directory.contents.isEmpty)
    }
}

extension Result {
    var isFailure: Bool { if case .failure = self { true } else { false } }
}
