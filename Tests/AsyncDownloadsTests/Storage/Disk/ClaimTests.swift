internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of the first checkpoint, which claims no bytes so that marks can be written after it.
@Suite("The first checkpoint", .endsWhenHung)
struct ClaimTests {
    private let directory: TemporaryDirectory
    private let long = Representation(
        finalURL: "http://a.example/x", validator: .lastModified("Fri, 16 Apr 2010 17:23:13 GMT"), length: 5 << 20)

    init() throws { directory = try TemporaryDirectory() }

    /// Returns what the next process finds after a kill with `count` marked bytes and no save.
    private func finding(_ representation: Representation, afterMarking count: Int64) throws -> PartialFinding {
        let first = try PartialStore().open(directory.location)
        try first.begin(representation)
        let bytes = [UInt8](repeating: 7, count: Int(count))
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(DownloadError) in try first.write(bytes, at: 0) }
        }
        try result.get()
        first.mark(IntervalSet(0..<count))
        // A close keeps what a kill would keep, if a checkpoint exists.
        first.close()
        return try PartialStore().open(directory.location).finding
    }

    @Test func `rule 54: marked bytes survive a kill before the first save`() throws {
        #expect(try finding(long, afterMarking: 300_000) == .bytes(long, IntervalSet(0..<300_000)))
    }

    @Test func `short files, and files that cannot be continued, have no early checkpoint`() throws {
        var short = long
        short.length = 1000
        #expect(try finding(short, afterMarking: 1000) == .nothing)
        var unproven = long
        unproven.validator = nil
        #expect(try finding(unproven, afterMarking: 1000) == .nothing)
    }
}
