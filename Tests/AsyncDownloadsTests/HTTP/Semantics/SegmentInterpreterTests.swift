internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("SegmentInterpreter", .endsWhenHung)
struct SegmentInterpreterTests {
    /// The fields of a correct response to a request for the bytes 40 to 79 of 100.
    private static let correct: HeaderFields = [
        "Content-Range": "bytes 40-79/100", "Content-Length": "40", "ETag": "\"v1\"",
    ]
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let otherDate = "Sun, 06 Nov 1994 08:49:38 GMT"
    private static let digest = ReprDigestText.first, otherDigest = ReprDigestText.second

    private enum ReprDigestText {
        static let first = "sha-256=:" + String(repeating: "A", count: 43) + "=:"
        static let second = "sha-256=:" + String(repeating: "B", count: 42) + "A=:"
    }

    private static func decide(
        _ status: Int = 206, _ changes: [(String, String?)] = [], known: Representation = .sample(),
        url: String = "https://a.example/file", weakTag: String? = nil, isChecksumExpected: Bool = false,
        isConditional: Bool = true
    ) -> SegmentDecision {
        var headers = correct
        for (name, value) in changes { headers[name] = value }
        let interpreter = SegmentInterpreter(
            requested: .segment(40..<80, validator: isConditional ? known.validator : nil), known: known,
            weakTag: weakTag,
            isChecksumExpected: isChecksumExpected, url: url, date: .sample)
        return interpreter.decide(ResponseHead(status: StatusCode(status), headers: headers))
    }

    @Test func `a request for a part has a bounded range and a condition`() {
        #expect(
            RequestedRange.segment(40..<80, validator: Representation.sample().validator).fields
                == ["Range": "bytes=40-79", "If-Match": "\"v1\""])
        #expect(
            RequestedRange.segment(40..<80, validator: Representation.dated().validator).fields
                == ["Range": "bytes=40-79", "If-Unmodified-Since": Self.date])
        #expect(RequestedRange.segment(0..<1, validator: nil).fields == ["Range": "bytes=0-0"])
    }

    @Test func `a part that proves itself is accepted, also one that is shorter`() {
        #expect(Self.decide() == .accept(end: 80))
        #expect(Self.decide(206, [("Content-Length", nil)]) == .accept(end: 80))
        let short = [("Content-Range", "bytes 40-59/100"), ("Content-Length", "20")]
        #expect(Self.decide(206, short) == .accept(end: 60))
    }

    @Test(
        arguments: [
            [("Content-Range", nil)],
            [("Content-Range", "bytes 39-79/100"), ("Content-Length", "41")],
            [("Content-Range", "bytes 41-79/100"), ("Content-Length", "39")],
            [("Content-Range", "bytes 40-80/100"), ("Content-Length", "41")],
            [("Content-Range", "bytes 40-79/*")],
            [("Content-Range", "bytes 79-40/100")],
            [("Content-Range", "bytes */100")],
            [("Content-Range", "items 40-79/100")],
            [("Content-Length", "39")],
            [("Content-Length", "x")],
            [("Content-Encoding", "gzip")],
            [("Content-Type", "multipart/byteranges; boundary=x")],
            [("ETag", nil)],
        ] as [[(String, String?)]])
    func `a response that isn't the requested part of a proven object is of no use`(changes: [(String, String?)]) {
        #expect(Self.decide(206, changes) == .unusable)
    }

    @Test(
        arguments: [
            [("ETag", "\"v2\"")],
            [("ETag", "W/\"v1\"")],
            [("ETag", "v1")],
            [("Content-Range", "bytes 40-79/101")],
            [("Repr-Digest", otherDigest)],
            [("ETag", nil), ("Last-Modified", otherDate)],
        ] as [[(String, String?)]])
    func `a difference is a change of the object, except under another URL`(changes: [(String, String?)]) {
        var known = Representation.sample()
        known.digests = ReprDigest(Self.digest)?.checksums
        known.lastModified = Self.date
        #expect(Self.decide(206, changes, known: known) == .changed)
        #expect(Self.decide(206, changes, known: known, url: "https://a.example/file?signature=1") == .changed)
        #expect(Self.decide(206, changes, known: known, url: "https://b.example/file") == .unusable)
        #expect(Self.decide(206, changes, known: known, url: "https://a.example/other") == .unusable)
    }

    @Test func `a digest proves a part under another validator`() {
        var known = Representation.sample()
        known.digests = ReprDigest(Self.digest)?.checksums
        #expect(Self.decide(206, [("ETag", "\"v2\""), ("Repr-Digest", Self.digest)], known: known) == .accept(end: 80))
        #expect(Self.decide(206, [("ETag", nil), ("Repr-Digest", Self.digest)], known: known) == .accept(end: 80))
    }

    @Test func `dates count only without an entity tag`() {
        var known = Representation.sample()
        known.lastModified = Self.date
        #expect(Self.decide(206, [("Last-Modified", Self.otherDate)], known: known) == .accept(end: 80))
        #expect(Self.decide(206, [("ETag", nil), ("Last-Modified", Self.date)], known: known) == .unusable)
        let dated = Representation.dated()
        #expect(Self.decide(206, [("Last-Modified", Self.date)], known: dated) == .accept(end: 80))
        #expect(Self.decide(206, [("Last-Modified", Self.otherDate)], known: dated) == .changed)
        #expect(Self.decide(206, [], known: dated) == .unusable)
    }

    @Test func `without a strong validator a part is accepted only if a checksum verifies the file`() {
        var known = Representation.sample()
        (known.validator, known.lastModified) = (nil, Self.date)
        let weak: [(String, String?)] = [("ETag", "W/\"1\""), ("Last-Modified", Self.date)]
        #expect(Self.decide(206, weak, known: known, weakTag: "W/\"1\"") == .unusable)
        #expect(Self.decide(206, weak, known: known, weakTag: "W/\"1\"", isChecksumExpected: true) == .accept(end: 80))
        #expect(Self.decide(206, weak, known: known, weakTag: "W/\"2\"", isChecksumExpected: true) == .changed)
        #expect(Self.decide(206, weak, known: known, isChecksumExpected: true) == .changed)
        let other: [(String, String?)] = [("ETag", "W/\"1\""), ("Last-Modified", Self.otherDate)]
        #expect(Self.decide(206, other, known: known, weakTag: "W/\"1\"", isChecksumExpected: true) == .changed)
        let none: [(String, String?)] = [("ETag", nil), ("Last-Modified", Self.date)]
        #expect(Self.decide(206, none, known: known, isChecksumExpected: true) == .accept(end: 80))
    }

    @Test func `a failed condition is a change, unless the tag is the same`() {
        #expect(Self.decide(412, [("ETag", nil)]) == .changed)
        #expect(Self.decide(412, [("ETag", "\"v2\"")]) == .changed)
        #expect(Self.decide(412, [("ETag", nil)], url: "https://b.example/file") == .unusable)
        #expect(Self.decide(412) == .retryWithoutCondition)
        #expect(Self.decide(412, isConditional: false) == .unusable)
    }

    @Test func `other statuses leave the part with the other exchanges`() {
        #expect(Self.decide(200) == .ignoresRanges)
        #expect(Self.decide(203) == .ignoresRanges)
        #expect(Self.decide(302, [("Location", "/x")]) == .redirect(location: "/x"))
        for status in [401, 403, 404, 410] { #expect(Self.decide(status) == .denied(StatusCode(status))) }
        for status in [408, 429, 500, 502, 503, 504, 520] { #expect(Self.decide(status) == .refused(retryAfter: nil)) }
        #expect(Self.decide(429, [("Retry-After", "7")]) == .refused(retryAfter: .seconds(7)))
        for status in [204, 304, 400, 405, 416, 501] { #expect(Self.decide(status) == .unusable) }
    }
}
