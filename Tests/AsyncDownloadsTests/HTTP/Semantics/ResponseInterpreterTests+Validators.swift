internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of responses in which an entity tag or a modification date differs from the recorded one.
@Suite("ResponseInterpreter, both validator fields", .endsWhenHung)
struct BothValidatorsTests {
    private static let recorded = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let later = "Sun, 06 Nov 1994 08:49:38 GMT"
    private static let changed = Verdict.retryRequest(.everything(.contentChanged))

    /// Returns a representation of 100 bytes with an entity tag and a modification date.
    private static func known(length: Int64? = 100, digests: [Checksum]? = nil) -> Representation {
        var known = Representation.sample(length: length)
        known.lastModified = recorded
        known.digests = digests
        return known
    }

    private static func part(_ fields: HeaderFields) -> HeaderFields {
        var fields = fields
        fields["Content-Range"] = "bytes 50-99/100"
        return fields
    }

    private static let parts: [(HeaderFields, Verdict)] = [
        (["Last-Modified": later], changed),
        (["Last-Modified": "yesterday"], changed),
        (["Last-Modified": ""], changed),
        (["Last-Modified": recorded], .append(end: 100)),
        (["Last-Modified": " \(recorded)\t"], .append(end: 100)),
        (["Last-Modified": "Sunday, 06-Nov-94 08:49:37 GMT"], .append(end: 100)),
        (["ETag": "\"v1\"", "Last-Modified": later], .append(end: 100)),
        (["ETag": "\"v2\"", "Last-Modified": recorded], changed),
        (["ETag": "W/\"v1\"", "Last-Modified": recorded], changed),
        ([:], .append(end: 100)),
    ]

    @Test(arguments: parts)
    func `boundary 8: a part with another date is not appended, unless its entity tag is strongly equal`(
        _ fields: HeaderFields, _ verdict: Verdict
    ) {
        #expect(InterpretedExchange.rest(of: Self.known(), 206, Self.part(fields), verdict).actualVerdict == verdict)
    }

    @Test func `boundary 8: a date has no effect if no date is recorded`() {
        let exchange = InterpretedExchange.rest(206, Self.part(["Last-Modified": Self.later]), .append(end: 100))
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    private static let refusals: [(HeaderFields, Verdict)] = [
        (["Last-Modified": later], changed),
        (["Last-Modified": recorded], .complete(50)),
        (["ETag": "\"v1\"", "Last-Modified": later], .complete(50)),
        (["ETag": "\"v2\"", "Last-Modified": recorded], changed),
        ([:], .complete(50)),
    ]

    @Test(arguments: refusals)
    func `boundary 8: 416 with another date does not complete the file, unless its entity tag is strongly equal`(
        _ fields: HeaderFields, _ verdict: Verdict
    ) {
        var fields = fields
        fields["Content-Range"] = "bytes */50"
        let exchange = InterpretedExchange.rest(of: Self.known(length: nil), 416, fields, verdict)
        #expect(exchange.actualVerdict == verdict)
    }

    private static let bodies: [(HeaderFields, Verdict)] = [
        (["ETag": "\"v1\"", "Last-Modified": later], .retryRequest(.withoutCondition)),
        (
            ["ETag": "\"v2\"", "Last-Modified": recorded],
            .begin(length: 100, end: 100, .contentChanged, validator: "\"v2\"")
        ),
        (["Last-Modified": later], .begin(length: 100, end: 100, .contentChanged)),
        (["Last-Modified": recorded], .begin(length: 100, end: 100, .contentChanged)),
    ]

    @Test(arguments: bodies)
    func `boundary 8: a whole body with the same entity tag is the same object, whatever its date`(
        _ fields: HeaderFields, _ verdict: Verdict
    ) {
        var fields = fields
        fields["Content-Length"] = "100"
        #expect(
            InterpretedExchange.rest(of: Self.known(), 200, fields, verdict).droppable(verdict).actualVerdict == verdict
        )
    }

    @Test func `boundary 8: an equal digest proves a part with another date, which is then recorded`() throws {
        let fields = Self.part([
            "Last-Modified": Self.later, "Repr-Digest": "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:",
        ])
        let known = Self.known(digests: [.sha256(String(repeating: "0", count: 64))])
        let exchange = InterpretedExchange.rest(of: known, 206, fields, .append(end: 100))
        #expect(exchange.actualVerdict == exchange.verdict)
        let decision = Self.interpreter(known).decide(ResponseHead(status: StatusCode(206), headers: fields))
        guard case .append(let continuation) = decision else { throw Unexpected() }
        #expect(continuation.representation.lastModified == Self.later)
        #expect(continuation.representation.unverifiedFrom == nil)
    }

    @Test
    func `boundary 8: a part with another date is appended as unverified if a digest decides at the end`() throws {
        var interpreter = Self.interpreter(Self.known())
        interpreter.toleratesChange = true
        let head = ResponseHead(status: StatusCode(206), headers: Self.part(["Last-Modified": Self.later]))
        guard case .append(let continuation) = interpreter.decide(head) else { throw Unexpected() }
        #expect(continuation.representation.unverifiedFrom == 50)
    }

    private struct Unexpected: Error {}

    private static func interpreter(_ known: Representation) -> ResponseInterpreter {
        ResponseInterpreter(
            requested: .continuing(at: 50, validator: known.validator, window: nil), known: known, received: 50,
            url: "https://a.example/file", decodesContent: false, date: .sample)
    }
}
