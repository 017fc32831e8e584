internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests with checkpoints exactly as earlier versions of this package wrote them.
///
/// A released format must remain readable, or be refused by its number. Therefore no line here may change; another
/// format is another row.
@Suite(.endsWhenHung)
struct FormatTests {
    private let directory: TemporaryDirectory
    private let disk = POSIXFileSystem()
    private static let token = "0123456789abcdef"

    init() throws { directory = try TemporaryDirectory() }

    /// A record of format 2 that contains every possible value.
    private static let record = #"""
        {"baseName":"file.zip","chosenName":"file-2.zip","generation":3,"inode":4711,"received":[[0,300]],\#
        "representation":{"contentCoding":null,"contentType":"application/zip","digests":\#
        ["sha-256=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"],\#
        "finalURL":"https://cdn.example.com/first","isFromDifferentURL":true,"isImported":true,\#
        "lastModified":"Sun, 06 Nov 1994 08:49:37 GMT","length":1000,"suggestedName":"a.zip","unverifiedFrom":200,\#
        "validator":"\"v1\""},"request":{"account":"7","checksum":"sha-256=00","choosesName":false,\#
        "defaultFileName":"b.zip","destination":"file.zip","hasSecretHeaders":true,"headers":[["Accept","*/*"],["X-Edition","evening"]],\#
        "identity":"article","subscribers":[{"checksum":"sha-256=00","choosesName":false,"destination":"file.zip","id":"0000000000000001000000000000000f",\#
        "userInfo":{"k":"v"}}],"url":"https://example.com/file.zip"},"session":"boot/1","token":"0123456789abcdef"}
        """#

    private static let checkpoint: Checkpoint = {
        var representation = Representation(
            finalURL: "https://cdn.example.com/first", validator: Validator(rawValue: "\"v1\""), length: 1000,
            contentType: "application/zip", suggestedName: "a.zip", lastModified: "Sun, 06 Nov 1994 08:49:37 GMT",
            digests: [.sha256(String(repeating: "a", count: 64))])
        representation.unverifiedFrom = 200
        representation.cameFromDifferentURL = true
        representation.isImported = true
        var request = RequestRecord(
            url: "https://example.com/file.zip", headers: [["Accept", "*/*"], ["X-Edition", "evening"]],
            hasSecretHeaders: true, destination: "file.zip", defaultFileName: "b.zip",
            checksum: "sha-256=00", identity: "article", account: "7")
        request.subscribers =
            DownloadID("0000000000000001000000000000000f").map { id in
                [RecordedSubscriber(id: id, userInfo: ["k": "v"], checksum: "sha-256=00", destination: "file.zip")]
            } ?? []
        return Checkpoint(
            generation: 3, baseName: "file.zip",
            request: request,
            representation: representation, received: IntervalSet(0..<300), token: token, inode: 4711,
            session: "boot/1", chosenName: "file-2.zip")
    }()

    @Test func `a record of format 2 is encoded and decoded exactly`() throws {
        let line = #"{"format":2,"crc32":"\#(CRC32.digits(of: Self.record.utf8))","record":\#(Self.record)}"# + "\n"
        let block = try Self.checkpoint.encoded()
        #expect(String(decoding: block, as: UTF8.self).hasPrefix(line))
        #expect(try Checkpoint.decode(block).checkpoint == Self.checkpoint)
    }

    @Test func `every key is encoded, and a checkpoint without one of them is not read`() throws {
        let keys = Self.record.matches(of: /"([A-Za-z]+)":/).map { String($0.1) }
        #expect(keys.count == 36)
        // Checkpoints of earlier versions have no default name and no subscribers, and are read.
        let later: Set = ["defaultFileName", "subscribers"]
        for key in Set(keys).subtracting(later) where key != "k" {
            let renamed = Self.record.replacing("\"\(key)\":", with: "\"\(key)X\":")
            #expect(throws: Checkpoint.Unreadable.corrupt, "\(key)") {
                try Checkpoint.decode(Self.line(renamed, format: 2))
            }
        }
    }

    /// A format, the lines that follow its record of 300 bytes, and the expected result of opening it.
    struct Fixture: Sendable {
        let format: Int
        var rollbacks: [String] = []
        var marks: [String] = []
        let finding: PartialFinding
    }

    static let fixtures: [Fixture] = [
        Fixture(format: 2, finding: found(300)),
        Fixture(format: 2, marks: ["mark 3 0 SESSION 0-400", "mark 3 0 SESSION 0-500"], finding: found(500)),
        Fixture(format: 2, marks: ["mark 3 0 another/1 0-400", "mark 2 0 SESSION 0-500"], finding: found(300)),
        Fixture(
            format: 2, rollbacks: ["", "rollback 3 1 0-200"], marks: ["mark 3 0 SESSION 0-400"], finding: found(200)),
        Fixture(
            format: 2, rollbacks: ["rollback 3 2 0-100", "rollback 3 1 0-200"], marks: ["", "mark 3 2 SESSION 0-250"],
            finding: found(250)),
        Fixture(format: 2, rollbacks: ["rollback 2 2 0-100"], finding: found(300)),
        Fixture(format: 2, rollbacks: ["rollback 3 2 -"], finding: found(0)),
        Fixture(format: 1, finding: .unusable(.checkpointVersion, discarded: 500)),
        Fixture(format: 3, finding: .unusable(.checkpointVersion, discarded: 500)),
    ]

    private static let object = Representation(
        finalURL: "https://cdn.example.com/first", validator: Validator(rawValue: "\"v1\""), length: 1000)

    private static func found(_ count: Int64) -> PartialFinding { .bytes(object, IntervalSet(0..<count)) }

    @Test(arguments: fixtures)
    func `a checkpoint of each format resumes or is refused by its number`(_ fixture: Fixture) throws {
        let names = directory.names
        let partial = try disk.open(names.path(.init(token: Self.token, owner: Self.token), .partial), .new)
        try SampleObject.first.bytes(0..<500).withUnsafeBytes { try disk.write($0, to: partial, at: 0) }
        let information = try disk.information(of: partial)
        disk.close(partial)
        let record = #"""
            {"baseName":"file.zip","chosenName":null,"generation":3,"inode":\#(information.inode),"received":[[0,300]],\#
            "representation":{"contentCoding":null,"contentType":null,"digests":null,\#
            "finalURL":"https://cdn.example.com/first","isFromDifferentURL":false,"isImported":false,\#
            "lastModified":null,"length":1000,"suggestedName":null,"unverifiedFrom":null,"validator":"\"v1\""},\#
            "request":{"account":null,"checksum":null,"choosesName":false,"destination":"file.zip",\#
            "hasSecretHeaders":false,"headers":[["Accept","*/*"]],"identity":null,\#
            "url":"https://example.com/file.zip"},"session":null,"token":"0123456789abcdef"}
            """#
        var bytes = Self.padded(Self.line(record, format: fixture.format), to: 4096)
        let session = try #require(PartialStore().session(device: information.device, .disk))
        for lines in [fixture.rollbacks, fixture.marks] {
            for slot in 0..<2 {
                let words = slot < lines.count ? lines[slot].replacing("SESSION", with: session) : ""
                let line = words.isEmpty ? [] : Array("\(words) \(CRC32.digits(of: words.utf8))\n".utf8)
                bytes += Self.padded(line, to: 2048)
            }
        }
        let handle = try disk.open(names.checkpoint, .new)
        try bytes.withUnsafeBytes { try disk.write($0, to: handle, at: 0) }
        disk.close(handle)
        #expect(try PartialStore().open(directory.location).finding == fixture.finding)
    }

    private static func line(_ record: String, format: Int) -> [UInt8] {
        Array(#"{"format":\#(format),"crc32":"\#(CRC32.digits(of: record.utf8))","record":\#(record)}"#.utf8) + [10]
    }

    private static func padded(_ bytes: [UInt8], to size: Int) -> [UInt8] {
        bytes + [UInt8](repeating: size == 4096 ? 32 : 0, count: (size - bytes.count % size) % size)
            + (bytes.isEmpty ? [UInt8](repeating: 0, count: size) : [])
    }
}
