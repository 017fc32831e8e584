internal import AsyncDownloads
internal import Foundation
internal import TestSupport
internal import Testing

@testable import batch

/// Tests of manifests that are read in parts, from pipes and from compressed files.
@Suite(.endsWhenHung) struct ManifestReaderTests {
    /// `gzip -9` of "http://a/1\nhttp://a/2\n".
    static let compressed: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xCB, 0x28, 0x29, 0x29, 0xB0, 0xD2, 0xD7, 0x4F,
        0xD4, 0x37, 0xE4, 0xCA, 0x80, 0x31, 0x8D, 0xB8, 0x00, 0xC4, 0x73, 0xEB, 0xC0, 0x16, 0x00, 0x00, 0x00,
    ]

    /// A FIFO that is open for writing.
    private final class FIFO {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        private let descriptor: Int32
        private var isOpen = true

        init() throws {
            try #require(mkfifo(path, 0o600) == 0)
            // Without a reader, opening for writing only would wait.
            descriptor = open(path, O_RDWR)
        }

        deinit {
            finish()
            unlink(path)
        }

        func write(_ text: String) {
            _ = Array(text.utf8).withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        }

        /// Waits until a reader has received all bytes.
        func drain() async {
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            while poll(&request, 1, 0) != 0 { await Task.yield() }
        }

        /// Ends the writing, which is the end of the file for a reader.
        func finish() {
            if isOpen { close(descriptor) }
            isOpen = false
        }
    }

    private func urls(_ part: ManifestReader.Part) -> [String] { part.entries.map(\.item.address.text) }

    @Test func `the lines of a pipe are delivered while it stays open`() async throws {
        let pipe = try FIFO()
        let reader = ManifestReader(pipe.path, ManifestParser())
        async let first = reader.next()
        pipe.write("http://a/1\n out=x\nhttp://a/2\nhttp://a/3")
        #expect(try await urls(first) == ["http://a/1"])
        // The last complete line gets no more options, and the last one isn't complete.
        let second = try await reader.next()
        #expect(urls(second) == ["http://a/2"] && !second.isLast)
        pipe.write("3\n out=y\n")
        let third = try await reader.next()
        #expect(urls(third) == ["http://a/33"])
        #expect(third.entries.first?.item.output?.path == "y")
        pipe.write(" dir=z\n")
        let error = await #expect(throws: ManifestFailure.self) { try await reader.next() }
        #expect(error?.line == 6)
        #expect(error?.description.contains("comes too late") == true)
    }

    @Test func `an option that hasn't arrived completely keeps its entry open`() async throws {
        let pipe = try FIFO()
        let reader = ManifestReader(pipe.path, ManifestParser(), patience: .zero)
        async let part = reader.next()
        pipe.write("http://a/1\n ou")
        await pipe.drain()
        pipe.write("t=x\nhttp://a/2\n")
        let result = try await part
        #expect(urls(result) == ["http://a/1"])
        #expect(result.entries.first?.item.output?.path == "x")
    }

    @Test func `without patience, entries wait for their lines`() async throws {
        let pipe = try FIFO()
        let reader = ManifestReader(pipe.path, ManifestParser(), patience: nil)
        async let part = reader.next()
        pipe.write("http://a/1\n")
        await pipe.drain()
        pipe.write(" out=x\n")
        pipe.finish()
        let result = try await part
        #expect(result.isLast && result.entries.map(\.item.path) == ["x"])
    }

    @Test func `an error after other entries comes with them`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("http://a/1\nhttp://a/2\nbad:\n".utf8).write(to: file)
        let part = try await ManifestReader(file.path, ManifestParser()).next()
        #expect(urls(part) == ["http://a/1", "http://a/2"] && part.failure?.line == 3)
        try Data("http://a/1\nhttp://a/2\n bad=1\n".utf8).write(to: file)
        let other = try await ManifestReader(file.path, ManifestParser()).next()
        #expect(urls(other) == ["http://a/1"] && other.failure?.line == 3)
        // It may be an option of the second entry.
        try (Data("http://a/1\nhttp://a/2\n out=".utf8) + Data([0xE9, 10])).write(to: file)
        let torn = try await ManifestReader(file.path, ManifestParser()).next()
        #expect(urls(torn) == ["http://a/1"] && torn.failure?.line == 3)
    }

    @Test func `a wait for a pipe can be canceled`() async throws {
        let pipe = try FIFO()
        let reader = ManifestReader(pipe.path, ManifestParser())
        async let part = reader.next()
        reader.cancel()
        let canceled = try await part
        #expect(canceled.entries.isEmpty && !canceled.isLast)
        withExtendedLifetime(pipe) {}
    }

    @Test func `a long manifest is read in parts`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try Data((0..<2500).map { "http://a/\($0)\n" }.joined().utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let reader = ManifestReader(file.path, ManifestParser())
        var feed = ItemFeed([], [reader], into: file.deletingLastPathComponent())
        try await feed.readAhead()
        #expect(feed.knownCount == 1000 && !feed.isComplete)
        for number in 0..<2500 { #expect(try await feed.next()?.item.address.text == "http://a/\(number)") }
        #expect(try await feed.next() == nil)
        #expect(feed.isComplete && feed.knownCount == 2500)
    }

    @Test func `a name that collides in the first part is an error of the manifest, and later of the item`()
        async throws
    {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        for count in [2, 1500] {
            let lines = (0..<count).map { "http://a/\($0)\n" }.joined() + "http://b/x\n out=0\nhttp://a/last\n"
            try Data(lines.utf8).write(to: file)
            let reader = ManifestReader(file.path, ManifestParser())
            var feed = ItemFeed([], [reader], into: file.deletingLastPathComponent())
            guard count > 1000 else {
                let error = await #expect(throws: ManifestFailure.self) { try await feed.readAhead() }
                #expect(error?.line == 4)
                continue
            }
            try await feed.readAhead()
            var refusals: [Int: DownloadError] = [:]
            while let next = try await feed.next() { refusals[next.item.id] = next.refusal }
            #expect(refusals.keys.sorted() == [1500])
            #expect(refusals[1500]?.description.contains(":1502: 0 is already the name") == true)
        }
    }

    @Test func `gzip data is recognized, and may have several members`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(Self.compressed + Self.compressed + [0, 0]).write(to: file)
        let part = try await ManifestReader(file.path, ManifestParser()).next()
        #expect(urls(part) == ["http://a/1", "http://a/2", "http://a/1", "http://a/2"])
    }

    /// Returns the error of the first part, with or without entries before it.
    private func failure(of reader: ManifestReader) async -> ManifestFailure? {
        do throws(ManifestFailure) {
            return try await reader.next().failure
        } catch {
            return error
        }
    }

    @Test func `gzip data that is cut or damaged is an error`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        for count in 2..<Self.compressed.count {
            try Data(Self.compressed.prefix(count)).write(to: file)
            let reader = ManifestReader(file.path, ManifestParser())
            #expect(await failure(of: reader) != nil)
        }
        for position in 0..<Self.compressed.count {
            var damaged = Self.compressed
            damaged[position] ^= 0x21
            try Data(damaged).write(to: file)
            // Some bytes of the head have no meaning here.
            if 4..<10 ~= position { continue }
            let reader = ManifestReader(file.path, ManifestParser())
            #expect(await failure(of: reader) != nil, "byte \(position)")
        }
    }

    @Test func `a long line is found while gzip data is decoded`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        // The last block with the fixed code: the letter "a", and copies of 258 bytes at the distance 1 (RFC 1951, 3.2.6).
        var bits: [UInt8] = [1, 1, 0] + [1, 0, 0, 1, 0, 0, 0, 1]
        for _ in 0..<10_000 { bits += [1, 1, 0, 0, 0, 1, 0, 1] + [0, 0, 0, 0, 0] }
        let bytes = stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start..<min(start + 8, bits.count)].enumerated().reduce(UInt8(0)) { $0 | $1.element << $1.offset }
        }
        try Data(Self.compressed.prefix(10) + bytes).write(to: file)
        let reader = ManifestReader(file.path, ManifestParser())
        let error = await #expect(throws: ManifestFailure.self) { try await reader.next() }
        #expect(error?.description.contains("longer than 1 MiB") == true)
    }

    @Test func `a line without an end is an error, and not unlimited memory`() throws {
        var splitter = LineSplitter()
        for _ in 0..<15 { try splitter.append([UInt8](repeating: 0x61, count: 1 << 16)) }
        #expect(splitter.next() == nil)
        #expect(throws: Misuse.self) { try splitter.append([UInt8](repeating: 0x61, count: 1 << 16)) }
    }
}
