internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of the checkpoint's bytes (rules 39 and 40).
@Suite("Checkpoint", .endsWhenHung)
struct CheckpointTests {
    private let checkpoint = Checkpoint(
        generation: 3, baseName: "file.zip", request: PartialLocation.sample(in: "/").request,
        representation: SampleObject.first.representation, received: IntervalSet(0..<300),
        token: "0123456789abcdef", inode: .max, session: nil)

    @Test func `a checkpoint is one line that head prints, in whole blocks`() throws {
        let bytes = try checkpoint.encoded()
        #expect(bytes.count % 4096 == 0)
        let line = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        #expect(line.hasPrefix(#"{"format":2,"crc32":""#))
        #expect(line.contains(#""received":[[0,300]]"#))
        #expect(line.contains("https://example.com/file.zip"))
        #expect(bytes.dropFirst(line.utf8.count + 1).allSatisfy { $0 == UInt8(ascii: " ") })
    }

    @Test func `a checkpoint of any length is decoded as it was encoded`() throws {
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

    @Test func `a checkpoint with any changed bit, or cut at any byte, is refused`() throws {
        let bytes = try checkpoint.encoded()
        let end = try #require(bytes.firstIndex(of: UInt8(ascii: "\n")))
        for index in 0...end {
            var turned = bytes
            turned[index] ^= 1 << (index % 8)
            #expect((try? Checkpoint.decode(turned))?.checkpoint == nil, "byte \(index)")
            #expect(throws: Checkpoint.Unreadable.corrupt) { try Checkpoint.decode(Array(bytes[..<index])) }
        }
    }

    @Test(arguments: [("1", true), ("3", true), ("17", true), ("x", false), ("", false)])
    func `a checkpoint of another version is reported as such`(text: String, isVersion: Bool) {
        let bytes = Array("{\"format\":\(text),\"whatever\":{}}\n".utf8)
        #expect(throws: isVersion ? Checkpoint.Unreadable.otherVersion : .corrupt) { try Checkpoint.decode(bytes) }
    }

    @Test func `the CRC-32 is the one that other programs compute`() {
        #expect(CRC32.digits(of: "123456789".utf8) == "cbf43926")
        #expect(CRC32.digits(of: []) == "00000000")
    }
}

/// Tests of the mark's bytes.
@Suite("CheckpointMark", .endsWhenHung)
struct CheckpointMarkTests {
    private let mark: CheckpointMark = {
        var received = IntervalSet(0..<1_048_576)
        received.insert(2_097_152..<3_145_728)
        return CheckpointMark(generation: 7, session: "b00t/2049", received: received)
    }()

    @Test func `a mark is one line with a CRC-32`() throws {
        let line = String(decoding: try #require(mark.encoded()), as: UTF8.self)
        #expect(line.hasPrefix("mark 7 0 b00t/2049 0-1048576,2097152-3145728 "))
        #expect(line.hasSuffix("\n"))
    }

    @Test func `a mark is read back whatever the slot contained before`() throws {
        let line = try #require(mark.encoded())
        let empty = CheckpointMark(generation: 7, session: "b00t/2049", received: IntervalSet())
        for mark in [mark, empty] {
            let slot = try #require(mark.encoded()) + line
            #expect(CheckpointMark(slot[...]) == mark)
        }
    }

    @Test(arguments: 0..<50)
    func `a torn mark is refused`(length: Int) throws {
        let line = try #require(mark.encoded())
        let other = CheckpointMark(generation: 8, session: "b00t/2049", received: IntervalSet(1..<9))
        let slot = try line.prefix(length) + #require(other.encoded()).dropFirst(length)
        // A tear within the common prefix of both marks has no effect.
        let read = CheckpointMark((slot + [UInt8](repeating: 0, count: 100))[...])
        #expect(read == nil || length <= "mark ".count && read == other)
    }

    @Test func `a mark with words that are too long is not written`() {
        var mark = mark
        mark.session = String(repeating: "b", count: CheckpointMark.slotSize)
        mark.received = IntervalSet()
        #expect(mark.encoded() == nil)
    }

    @Test func `a mark with too many ranges is not written`() {
        var mark = mark
        for index in 0..<1000 { mark.received.insert(Int64(index) * 1_000_000..<Int64(index) * 1_000_000 + 1) }
        #expect(mark.encoded() == nil)
    }
}
