internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of responses to the question whether the files at the destinations are unchanged.
@Suite("ResponseInterpreter, existing files", .endsWhenHung)
struct ExistingInterpreterTests {
    /// A response, and its meaning for a file with the entity tag "v1" or, if `isDated`, with a date.
    struct Row: Sendable {
        var status = 304
        var headers: HeaderFields = [:]
        var isDated = false
        var requiresVerification = false
        let verdict: Verdict
    }

    private static let portal = Verdict.fail(.unexpectedHTML, retryable: true)

    @Test(
        arguments: [
            Row(verdict: .unchanged),
            Row(headers: ["ETag": "\"v1\""], verdict: .unchanged),
            Row(headers: ["ETag": "\"v1\""], requiresVerification: true, verdict: .unchanged),
            Row(requiresVerification: true, verdict: .retryRequest(.withoutCondition)),
            Row(headers: ["ETag": "\"v2\""], verdict: .retryRequest(.withoutCondition)),
            Row(headers: ["ETag": "W/\"v1\""], verdict: .retryRequest(.withoutCondition)),
            Row(headers: ["ETag": "v1"], verdict: .retryRequest(.withoutCondition)),
            Row(isDated: true, verdict: .unchanged),
            Row(headers: ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"], isDated: true, verdict: .unchanged),
            Row(
                headers: ["Last-Modified": "Sun, 06 Nov 1994 08:49:38 GMT"], isDated: true,
                verdict: .retryRequest(.withoutCondition)),
            Row(isDated: true, requiresVerification: true, verdict: .retryRequest(.withoutCondition)),
            Row(status: 412, verdict: .retryRequest(.withoutCondition)),
        ])
    func `rule 62: only a 304 of the same validator confirms a file`(row: Row) {
        #expect(verdict(row) == row.verdict)
    }

    @Test(
        arguments: [
            Row(status: 200, headers: ["Content-Type": "text/html", "Content-Length": "9"], verdict: portal),
            Row(status: 200, headers: ["Content-Type": "text/html; charset=utf-8"], verdict: portal),
            Row(
                status: 200, headers: ["Content-Type": "text/html", "Content-Length": "9", "ETag": "\"v2\""],
                verdict: .begin(length: 9, end: 9, validator: "\"v2\"")),
            Row(
                status: 200, headers: ["Content-Type": "image/png", "Content-Length": "9"],
                verdict: .begin(length: 9, end: 9)),
            Row(
                status: 200, headers: ["Content-Type": "text/html", "Content-Length": "9"], isDated: true,
                verdict: portal),
        ])
    func `rules 31 and 62: a login page does not replace a file`(row: Row) {
        #expect(verdict(row) == row.verdict)
    }

    @Test func `rule 62: the condition is the tag or the date, and never both`() throws {
        var request = RequestedRange.everything
        request.condition = .ifNoneMatch(.entityTag(try #require(EntityTag("\"v1\""))))
        #expect(request.fields == ["If-None-Match": "\"v1\""])
        request.condition = .ifNoneMatch(.lastModified("Sun, 06 Nov 1994 08:49:37 GMT"))
        #expect(request.fields == ["If-Modified-Since": "Sun, 06 Nov 1994 08:49:37 GMT"])
    }

    private func verdict(_ row: Row) -> Verdict {
        var existing = row.isDated ? Representation.dated() : .sample()
        existing.contentType = "application/octet-stream"
        var requested = RequestedRange.everything
        requested.condition = existing.validator.map { .ifNoneMatch($0) } ?? .none
        let interpreter = ResponseInterpreter(
            requested: requested, known: nil, received: 0, url: "https://a.example/file", decodesContent: false,
            date: .sample, requiresVerification: row.requiresVerification, existing: existing)
        return Verdict(interpreter.decide(ResponseHead(status: StatusCode(row.status), headers: row.headers)))
    }
}
