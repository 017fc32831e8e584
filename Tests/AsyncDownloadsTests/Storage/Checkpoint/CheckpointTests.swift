internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The checkpoint's bytes (rules 39 and 40).
@Suite("Checkpoint", .endsWhenHung)
struct CheckpointTests {
    private let checkpoint = Checkpoint(
        generation: 3, baseName: "file.zip", request: PartialLocation.sample(in: "/").request,
        representation: SampleObject.first.representation, received: IntervalSet(0..<300),
        token: "0123456789abcdef", inode: .max, session: nil)

    @Test("is one line that can be read with head, in whole blocks")
    func line() throws {
        let bytes = try checkpoint.encoded()
        #expect(bytes.count % 4096 == 0)
        let line = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        #expect(line.hasPrefix(#"{"format":2,"crc32":""#))
        #expect(line.contains(#""received":[[0,300]]"#))
        #expect(line.contains("https://example.com/file.zip"))
        #expect(bytes.dropFirst(line.utf8.count + 1).allSatisfy { $0 == UInt8(ascii: " ") })
    }

    @Test("is read back as it was written, however long")
    func roundTrip() throws {
        var long = checkpoint
        for index in 0..<2000 { long.received.insert(Int64(index) * 10..<Int64(index) * 10 + 5) }
        long.representation.length = nil
        for checkpoint in [checkpoint, long] {
            let bytes = try checkpoint.encoded()
            let (read, markOffset) = try Checkpoint.decode(bytes + [UInt8](repeating: 0, count: 4096))
            #expect(read == checkpoint)
            #expect(markOffset == bytes.count)
        }
    }

    @Test("is refused with any single bit turned, and cut anywhere")
    func everyBit() throws {
        let bytes = try checkpoint.encoded()
        let end = try #require(bytes.firstIndex(of: UInt8(ascii: "\n")))
        for index in 0...end {
            var turned = bytes
            turned[index] ^= 1 << (index % 8)
            #expect((try? Checkpoint.decode(turned))?.checkpoint == nil, "byte \(index)")
            #expect(throws: Checkpoint.Unreadable.corrupt) { try Checkpoint.decode(Array(bytes[..<index])) }
        }
    }

    @Test(
        "says that it is of another version",
        arguments: [("1", true), ("3", true), ("17", true), ("x", false), ("", false)])
    func version(text: String, isVersion: Bool) {
        let bytes = Array("{\"format\":\(text),\"whatever\":{}}\n".utf8)
        #expect(throws: isVersion ? Checkpoint.Unreadable.otherVersion : .corrupt) { try Checkpoint.decode(bytes) }
    }

    @Test("has the check that other programs compute")
    func check() {
        #expect(CRC32.digits(of: "123456789".utf8) == "cbf43926")
        #expect(CRC32.digits(of: []) == "00000000")
    }
}

/// The mark's bytes.
@Suite("CheckpointMark", .endsWhenHung)
struct CheckpointMarkTests {
    private let mark: CheckpointMark = {
        var received = IntervalSet(0..<1_048_576)
        received.insert(2_097_152..<3_145_728)
        return CheckpointMark(generation: 7, session: "b00t/2049", received: received)
    }()

    @Test("is one line with a check")
    func line() throws {
        let line = String(decoding: try #require(mark.encoded()), as: UTF8.self)
        #expect(line.hasPrefix("mark 7 0 b00t/2049 0-1048576,2097152-3145728 "))
        #expect(line.hasSuffix("\n"))
    }

    @Test("is read back whatever the slot held before")
    func roundTrip() throws {
        let line = try #require(mark.encoded())
        let empty = CheckpointMark(generation: 7, session: "b00t/2049", received: IntervalSet())
        for mark in [mark, empty] {
            let slot = try #require(mark.encoded()) + line
            #expect(CheckpointMark(slot[...]) == mark)
        }
    }

    @Test("is refused when it is torn", arguments: 0..<50)
    func torn(length: Int) throws {
        let line = try #require(mark.encoded())
        let other = CheckpointMark(generation: 8, session: "b00t/2049", received: IntervalSet(1..<9))
        let slot = try line.prefix(length) + #require(other.encoded()).dropFirst(length)
        // What both have in common is no tear.
        let read = CheckpointMark((slot + [UInt8](repeating: 0, count: 100))[...])
        #expect(read == nil || length <= "mark ".count && read == other)
    }

    @Test("is not written where its words are too long")
    func longWords() {
        var mark = mark
        mark.session = String(repeating: "b", count: CheckpointMark.slotSize)
        mark.received = IntervalSet()
        #expect(mark.encoded() == nil)
    }

    @Test("is not written where its ranges are too many")
    func tooLong() {
        var mark = mark
        for index in 0..<1000 { mark.received.insert(Int64(index) * 1_000_000..<Int64(index) * 1_000_000 + 1) }
        #expect(mark.encoded() == nil)
    }
}
