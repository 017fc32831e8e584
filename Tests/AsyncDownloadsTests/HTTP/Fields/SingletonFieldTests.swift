internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of repeated fields that may have only one value (RFC 9110, 5.3).
@Suite("Repeated singleton fields", .endsWhenHung)
struct SingletonFieldTests {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let later = "Sun, 06 Nov 1994 08:49:38 GMT"
    private static let received = "Mon, 07 Nov 1994 08:49:37 GMT"

    @Test(
        arguments: [
            .fresh(
                200, ["ETag": "\"v1\"", "etag": " \"v1\" "], .begin(length: nil, end: nil, validator: "\"v1\"")),
            .fresh(200, ["ETag": "\"v1\"", "ETag": "\"v2\""], .begin(length: nil, end: nil)),
            .fresh(200, ["ETag": "\"v1\"", "ETag": "W/\"v1\""], .begin(length: nil, end: nil)),
            .fresh(
                200, ["ETag": "\"v1\"", "ETag": "\"v2\"", "Last-Modified": date, "Date": received],
                .begin(length: nil, end: nil)),
            .rest(206, ["Content-Range": "bytes 50-99/100", "ETag": "\"v1\"", "ETag": "\"v1\""], .append(end: 100)),
            .rest(
                206, ["Content-Range": "bytes 50-99/100", "ETag": "\"v1\"", "ETag": "\"v2\""],
                .retryRequest(.everything(.contentChanged))),
            .rest(
                206, ["Content-Range": "bytes 50-99/100", "ETag": "\"v2\"", "ETag": "\"v1\""],
                .retryRequest(.everything(.contentChanged))),
            .fresh(
                200, ["Last-Modified": date, "Last-Modified": date, "Date": received, "Date": received],
                .begin(length: nil, end: nil, validator: date)),
            .fresh(
                200, ["Last-Modified": date, "Last-Modified": later, "Date": received],
                .begin(length: nil, end: nil)),
            .fresh(200, ["Last-Modified": date, "Date": received, "Date": later], .begin(length: nil, end: nil)),
            .rest(
                of: .dated(), 206,
                ["Content-Range": "bytes 50-99/100", "Last-Modified": date, "Last-Modified": date],
                .append(end: 100)),
            .rest(
                of: .dated(), 206,
                ["Content-Range": "bytes 50-99/100", "Last-Modified": date, "Last-Modified": later],
                .retryRequest(.everything(.contentChanged))),
            .rest(206, ["Content-Range": "bytes 50-99/100", "Content-Range": "bytes 50-99/100"], .append(end: 100)),
            .rest(206, ["Content-Range": "bytes 50-99/100", "Content-Range": "bytes 50-98/100"], .rangeFault),
            .rest(
                of: .sample(length: nil), 416, ["Content-Range": "bytes */50", "Content-Range": "bytes */50"],
                .complete(50)),
            .rest(
                of: .sample(length: nil), 416, ["Content-Range": "bytes */50", "Content-Range": "bytes */51"],
                .retryRequest(.everything(.rangeNotSatisfiable))),
            .rest(
                206, ["Content-Range": "bytes 50-99/100", "Content-Length": "50", "Content-Length": "50"],
                .append(end: 100)),
            .rest(
                206, ["Content-Range": "bytes 50-99/100", "Content-Length": "50", "Content-Length": "51"],
                .rangeFault),
            .fresh(
                200, ["Content-Length": "50", "Content-Length": "51"], .fail(.malformedResponse, retryable: true)),
            .fresh(302, ["Location": "/x", "Location": "/x"], .redirect("/x")),
            .fresh(302, ["Location": "/x", "Location": "/y"], .redirect(nil)),
            .fresh(302, ["Location": "http://a.example/", "Location": "http://b.example/"], .redirect(nil)),
            .fresh(
                503, ["Retry-After": "7", "Retry-After": "9"],
                .fail(.httpStatus, retryable: true, after: .seconds(7))),
            .rest(
                206,
                [
                    "Content-Range": "bytes 50-99/100", "Content-Type": "text/plain",
                    "Content-Type": "multipart/byteranges; boundary=x",
                ], .rangeFault),
        ] as [InterpretedExchange])
    func `boundary 16: identical repetitions count once, and contradictory ones are not trusted`(
        _ exchange: InterpretedExchange
    ) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test func `boundary 16: the first of several fields counts if it only describes the file`() throws {
        let representation = try Self.begun([
            "Content-Disposition": "attachment; filename=a.txt", "Content-Disposition": "attachment",
            "Content-Type": "text/csv", "Content-Type": "text/html", "Last-Modified": Self.date,
            "Last-Modified": Self.date,
        ])
        #expect(representation.suggestedName == "a.txt")
        #expect(representation.contentType == "text/csv")
        #expect(representation.lastModified == Self.date)
    }

    @Test func `boundary 16: a contradictory date is not recorded`() throws {
        #expect(try Self.begun(["Last-Modified": Self.date, "Last-Modified": Self.later]).lastModified == nil)
    }

    @Test func `boundary 16: the recorded part of a head is limited`() throws {
        let long = String(repeating: "a", count: 60_000)
        let representation = try Self.begun([
            "Content-Type": "text/\(long)", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 \(long)", "ETag": "\"\(long)\"",
            "Content-Encoding": "gzip, \(long)", "Content-Disposition": "attachment; filename=\(long)",
            "Repr-Digest": (0..<1000).map {
                "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:, key\($0)=:AAAA:"
            }.joined(separator: ", "),
        ])
        #expect(representation.contentType == nil)
        #expect(representation.lastModified == nil)
        #expect(representation.validator == nil)
        #expect(representation.contentCoding != nil, "the body is coded even if the name of its coding is too long")
        #expect(representation.contentCoding?.utf8.count ?? 0 <= 1024)
        #expect(representation.suggestedName?.utf8.count ?? 0 <= 255)
        #expect(representation.digests?.count ?? 0 <= Checksum.Algorithm.allCases.count)
    }

    @Test(arguments: [(1024, true), (1025, false)])
    func `boundary 16: a field of 1024 bytes is recorded, and a longer one is not`(
        _ count: Int, _ isRecorded: Bool
    ) throws {
        let text = "text/" + String(repeating: "a", count: count - 5)
        #expect(try Self.begun(["Content-Type": text]).contentType == (isRecorded ? text : nil))
    }

    private struct NotBegun: Error {}

    /// Returns the representation that is recorded for a whole body with these fields.
    private static func begun(_ fields: HeaderFields) throws -> Representation {
        let interpreter = ResponseInterpreter(
            requested: .everything, known: nil, received: 0, url: "https://a.example/file", decodesContent: false,
            date: .sample)
        let head = ResponseHead(status: StatusCode(200), headers: fields)
        guard case .begin(let representation, _, _) = interpreter.decide(head) else { throw NotBegun() }
        return representation
    }
}
