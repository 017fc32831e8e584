import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of bodies in memory: written in any order, kept within a limit, moved to disk and back.
@Suite(.endsWhenHung)
struct PartialBodyStoreTests {
    private static let content = Content(seed: 3, length: 10_000)
    private static let representation = Representation(
        finalURL: "http://host/a", validator: EntityTag("\"a\"").map(Validator.entityTag), length: content.length)

    private static func body(
        _ ranges: Range<Int64>..., of representation: Representation = representation
    ) -> MemoryBody {
        var body = MemoryBody(representation)
        for range in ranges { content.bytes(in: range).withUnsafeBytes { body.write($0, at: range.lowerBound) } }
        return body
    }

    private static func location(_ name: String, in directory: String = "/nowhere") -> PartialLocation {
        PartialLocation(
            directory: directory, baseName: "body", request: RequestRecord(url: "http://host/\(name)", destination: ""),
            medium: .memory)
    }

    @Test(
        arguments: [
            [0..<10_000], [0..<1, 1..<10_000], [5000..<10_000, 0..<5000], [0..<6000, 4000..<10_000],
            [9000..<10_000, 0..<100, 50..<9500],
        ] as [[Range<Int64>]])
    func `bytes are at their offsets, in whatever order they were written`(_ ranges: [Range<Int64>]) {
        var body = Self.body()
        #expect(!body.isResumable)
        for range in ranges {
            Self.content.bytes(in: range).withUnsafeBytes { body.write($0, at: range.lowerBound) }
        }
        #expect(body.received == IntervalSet(0..<10_000))
        #expect(body.prefix(10_000) == Data(Self.content.bytes(in: 0..<10_000)))
        var part = [UInt8](repeating: 0, count: 300)
        #expect(part.withUnsafeMutableBytes { body.read(into: $0, at: 9900) } == 100)
        #expect(Array(part[..<100]) == Self.content.bytes(in: 9900..<10_000))
        #expect(part.withUnsafeMutableBytes { body.read(into: $0, at: 10_000) } == 0)
    }

    @Test func `a kept body is taken once, and a newer one replaces it`() {
        let bodies = PartialBodyStore(byteLimit: 100_000)
        let disk = PartialStore()
        bodies.keep(Self.body(0..<100), of: Self.location("a"), on: disk)
        bodies.keep(Self.body(0..<300), of: Self.location("a"), on: disk)
        bodies.keep(Self.body(0..<50), of: Self.location("b"), on: disk)
        #expect(bodies.byteCount == 350)
        #expect(bodies.take(Self.location("c")) == nil)
        #expect(bodies.take(Self.location("a"))?.received.count == 300)
        #expect(bodies.take(Self.location("a")) == nil)
        #expect(bodies.byteCount == 50)
        #expect(bodies.removeAll() == 50)
        #expect(bodies.byteCount == 0)
    }

    @Test func `bodies beyond the limit move to disk, the oldest first, and are found there`() throws {
        let directory = try TemporaryDirectory()
        let bodies = PartialBodyStore(byteLimit: 1000)
        let store = PartialStore(durability: .processCrash).keeping(bodies, spilledIn: directory.path)
        for name in ["a", "b", "c"] {
            bodies.keep(Self.body(0..<400), of: Self.location(name, in: directory.path), on: store)
        }
        #expect(bodies.byteCount == 800)
        #expect(store.holds(Self.location("a", in: directory.path)))
        #expect(!store.holds(Self.location("b", in: directory.path)))
        let partial = try store.open(Self.location("a", in: directory.path))
        #expect(partial.finding == .bytes(Self.representation, IntervalSet(0..<400)))
        #expect(try partial.contents(length: 400) == Data(Self.content.bytes(in: 0..<400)))
        partial.discard()
        #expect(try directory.contents == [])
    }

    @Test(arguments: [true, false])
    func `a file continues a body in memory, and a body that had to leave it`(_ isSpilled: Bool) throws {
        let directory = try TemporaryDirectory()
        let bodies = PartialBodyStore(byteLimit: isSpilled ? 0 : 1000)
        let store = PartialStore(durability: .processCrash).keeping(bodies, spilledIn: directory.path + "/spill")
        bodies.keep(Self.body(0..<400), of: Self.location("a", in: directory.path + "/spill"), on: store)
        let file = PartialLocation(
            directory: directory.path, baseName: "file.bin",
            request: RequestRecord(url: "http://host/a", destination: "file.bin"))
        let partial = try store.open(file)
        #expect(partial.finding == .bytes(Self.representation, IntervalSet(0..<400)))
        partial.close()
        let again = try PartialStore(durability: .processCrash).open(file)
        #expect(again.finding == .bytes(Self.representation, IntervalSet(0..<400)), "the bytes are on disk")
        #expect(try again.contents(length: 400) == Data(Self.content.bytes(in: 0..<400)))
        again.discard()
        #expect(bodies.byteCount == 0)
        #expect(!store.holds(Self.location("a", in: directory.path + "/spill")))
    }

    @Test func `a body that cannot be continued is not kept`() throws {
        let bodies = PartialBodyStore(byteLimit: 1000)
        let store = PartialStore().keeping(bodies, spilledIn: "/nowhere")
        var nameless = Self.representation
        nameless.validator = nil
        var coded = Self.representation
        coded.contentCoding = "gzip"
        for representation in [nameless, coded] {
            let partial = try store.open(Self.location("a"))
            try partial.begin(representation)
            try Self.content.bytes(in: 0..<100).withUnsafeBytes { try partial.write($0, at: 0) }
            partial.mark(IntervalSet(0..<100))
            partial.close()
            #expect(bodies.byteCount == 0)
        }
    }

    @Test func `bytes that cannot move to disk stay in memory`() throws {
        let bodies = PartialBodyStore(byteLimit: 1000)
        let store = PartialStore().keeping(bodies, spilledIn: "/dev/null/x")
        let partial = try store.open(Self.location("a", in: "/dev/null/x"))
        try partial.begin(Self.representation)
        try Self.content.bytes(in: 0..<100).withUnsafeBytes { try partial.write($0, at: 0) }
        let error = #expect(throws: DownloadError.self) {
            _ = try partial.move(to: Self.location("a", in: "/dev/null/x"))
        }
        #expect(error?.code == .destinationUnusable)
        #expect(partial.isInMemory)
        partial.mark(IntervalSet(0..<100))
        partial.close()
        #expect(bodies.take(Self.location("a"))?.received == IntervalSet(0..<100))
    }

    @Test func `boundary 5: a body is unverified after other headers were sent, and is not moved to disk`() throws {
        let directory = try TemporaryDirectory()
        let bodies = PartialBodyStore(byteLimit: 1 << 20)
        let store = PartialStore(durability: .processCrash).keeping(bodies, spilledIn: directory.path)
        let location = Self.location("a", in: directory.path)
        let partial = try store.open(location)
        try partial.begin(Self.representation)
        try Self.content.bytes(in: 0..<100).withUnsafeBytes { bytes throws in try partial.write(bytes, at: 0) }
        partial.useCredentials(["Authorization": "other"])
        partial.useCredentials([:])
        partial.mark(IntervalSet(0..<100))
        #expect(partial.close() == IntervalSet(0..<100))
        guard case .bytes(let representation, _) = try store.open(location).finding else {
            Issue.record("the body is gone")
            return
        }
        #expect(representation.hasUnverifiedCredentials)
        // The body is in the store again after the partial was released.
        #expect(bodies.byteCount == 100)
        #expect(bodies.releaseAll(to: store).map(\.isOnDisk) == [false])
        #expect(try directory.contents.isEmpty)
    }
}
