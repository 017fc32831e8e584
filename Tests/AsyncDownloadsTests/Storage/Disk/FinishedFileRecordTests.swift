internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of the binary form of the records in finished files.
@Suite(.enabled(if: RunningDigest.isAvailable), .endsWhenHung)
struct FinishedFileRecordTests {
    private static let inode: UInt64 = 4711

    private static func record(
        tag: String? = nil, date: String? = nil, type: String? = nil, length: Int64 = 1 << 40, isSynced: Bool = true
    ) throws -> FinishedFileRecord {
        let request = RequestRecord(url: "https://example.com/file", destination: "file")
        let validator =
            try tag.map { Validator.entityTag(try #require(EntityTag($0))) } ?? date.map { .lastModified($0) }
        return FinishedFileRecord(
            resource: try #require(ResourceDigest(request)), length: length,
            modificationTime: 1_764_000_000_123_456_789, validator: validator, contentType: type,
            session: isSynced ? nil : FinishedFileRecord.SessionDigest("boot/1"))
    }

    /// - Parameter isShort: Whether the value needs no separate block on ext4.
    @Test(
        arguments: [
            (tag: nil, date: nil, type: nil, isShort: true),
            // nginx, Apache, S3, S3 in parts, GitHub, a digest in hexadecimal digits, and an empty tag.
            (tag: "\"66f1a2b3-5f5e100\"", date: nil, type: "application/octet-stream", isShort: true),
            (tag: "\"2d-432a5e4a73a80\"", date: nil, type: "text/html", isShort: true),
            (tag: "\"d41d8cd98f00b204e9800998ecf8427e\"", date: nil, type: "image/jpeg", isShort: true),
            (tag: "\"d41d8cd98f00b204e9800998ecf8427e-12\"", date: nil, type: nil, isShort: false),
            (tag: "\"\(String(repeating: "0a", count: 32))\"", date: nil, type: "video/mp4", isShort: false),
            (tag: "\"\"", date: nil, type: nil, isShort: true),
            (tag: "\"ABC\"", date: nil, type: nil, isShort: true),
            (tag: "\"e\u{301} \u{1F680}\"", date: nil, type: "", isShort: true),
            (tag: "\"\(String(repeating: "x", count: 1000))\"", date: nil, type: "a/b; c=\"d\"", isShort: false),
            (tag: nil, date: "Sun, 06 Nov 1994 08:49:37 GMT", type: "text/plain", isShort: true),
            (tag: nil, date: "Sunday, 06-Nov-94 08:49:37 GMT", type: nil, isShort: false),
            (tag: nil, date: "Thu, 01 Jan 1970 00:00:00 GMT", type: nil, isShort: true),
            (tag: nil, date: "Thu, 01 Jan 1903 00:00:00 GMT", type: nil, isShort: false),
        ] as [(tag: String?, date: String?, type: String?, isShort: Bool)], [true, false])
    func `rule 60: a record is read as it was written`(
        row: (tag: String?, date: String?, type: String?, isShort: Bool), isSynced: Bool
    ) throws {
        // A tag contains no space.
        let tag = row.tag?.replacing(" ", with: "")
        let record = try Self.record(tag: tag, date: row.date, type: row.type, isSynced: isSynced)
        let value = record.encoded(inode: Self.inode)
        #expect(FinishedFileRecord(value, inode: Self.inode) == record)
        if row.isShort, isSynced { #expect(value.count <= FinishedFileRecord.shortLength) }
        #expect(FinishedFileRecord(value, inode: Self.inode + 1) == nil, "another file has the value")
    }

    @Test(arguments: [0, 1, 127, 128, 16_383, 16_384, 1 << 35, Int64.max])
    func `rule 60: every length is read as it was written`(length: Int64) throws {
        let record = try Self.record(tag: "\"a\"", length: length)
        #expect(FinishedFileRecord(record.encoded(inode: 0), inode: 0) == record)
    }

    @Test func `rule 60: a damaged record is no record`() throws {
        let record = try Self.record(
            tag: "\"66f1a2b3-5f5e100\"", type: "application/octet-stream; charset=binary", isSynced: false)
        let value = record.encoded(inode: Self.inode)
        for index in value.indices {
            for bit in 0..<8 {
                var damaged = value
                damaged[index] ^= 1 << bit
                #expect(FinishedFileRecord(damaged, inode: Self.inode) == nil, "bit \(bit) of byte \(index)")
            }
            #expect(FinishedFileRecord(Array(value[..<index]), inode: Self.inode) == nil, "\(index) bytes")
        }
        #expect(FinishedFileRecord(value + [0], inode: Self.inode) == nil)
        #expect(FinishedFileRecord([UInt8](repeating: 0, count: 56), inode: Self.inode) == nil)
    }

    @Test func `rule 60: bytes with a correct CRC-32 are read consistently or not at all`() {
        var random = SplitMix64(seed: 60)
        var readCount = 0
        for _ in 0..<50_000 {
            var rest = (0..<Int.random(in: 0...64, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random)
            }
            // Most forms with random bits are refused at once.
            if !rest.isEmpty, Bool.random(using: &random) { rest[0] &= 0b0011_1011 }
            let check = CRC32.value(of: [UInt8](repeating: 0, count: 8) + rest)
            let value = [1] + (0..<4).map { UInt8(truncatingIfNeeded: check >> (8 * $0)) } + rest
            guard let record = FinishedFileRecord(value, inode: 0) else { continue }
            readCount += 1
            #expect(FinishedFileRecord(record.encoded(inode: 0), inode: 0) == record)
        }
        #expect(readCount > 10, "some of the values have to be readable")
    }

    @Test
    func `rule 60: the digest of a resource is that of its URL or identity, its nonsecret headers, and its account`()
        throws
    {
        func request(
            _ url: String = "https://a.example/", headers: [[String]] = [], identity: String? = nil,
            account: String? = nil, isSecret: Bool = false
        ) -> RequestRecord {
            RequestRecord(
                url: url, headers: headers, hasSecretHeaders: isSecret, destination: "x", identity: identity,
                account: account)
        }
        let requests = [
            request(), request("https://b.example/"), request(identity: "a"), request(account: "a"),
            request(headers: [["Accept", "a"]]), request(headers: [["Accept", "b"]]),
            request(headers: [["Accept", "a"], ["Accept-Language", "b"]]), request(identity: "a", account: "a"),
        ]
        let digests = requests.compactMap { ResourceDigest($0) }
        #expect(Set(digests).count == requests.count)
        #expect(ResourceDigest(request(headers: [["accept", "a"]])) == digests[4])
        #expect(ResourceDigest(request(identity: "a")) == ResourceDigest(request("https://b.example/", identity: "a")))
        #expect(ResourceDigest(request(isSecret: true)) == nil)
        #expect(ResourceDigest(request(account: "a", isSecret: true)) == digests[3])
    }
}
