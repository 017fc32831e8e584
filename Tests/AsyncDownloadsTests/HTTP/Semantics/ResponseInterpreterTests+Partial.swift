internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("ResponseInterpreter, partial responses", .endsWhenHung)
struct PartialResponseInterpreterTests {
    /// Returns the fields of a partial response with the same representation.
    private static func part(_ contentRange: String?, _ more: HeaderFields = [:]) -> HeaderFields {
        var fields = more
        fields["ETag"] = "\"v1\""
        fields["Content-Range"] = contentRange
        return fields
    }

    @Test(
        arguments: [
            .rest(206, part("bytes 50-99/100"), .append(end: 100)),
            .rest(206, part("bytes 50-99/100", ["Content-Length": "50"]), .append(end: 100)),
            .rest(window: 10, 206, part("bytes 50-59/100"), .append(end: 60)),
            .rest(
                of: .dated(), 206,
                ["Content-Range": "bytes 50-99/100", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"],
                .append(end: 100)),
        ] as [InterpretedExchange])
    func `a part that continues the received bytes is appended`(_ exchange: InterpretedExchange) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(arguments: ["none", "bytes", "items", ""])
    func `rule 33: Accept-Ranges has no effect`(_ value: String) {
        let exchange = InterpretedExchange.rest(
            206, Self.part("bytes 50-99/100", ["Accept-Ranges": value]), .append(end: 100))
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        arguments: [
            .rest(206, part(nil), .rangeFault),
            .rest(206, part(""), .rangeFault),
            .rest(206, part("50-99/100"), .rangeFault),
            .rest(206, part("bytes 50-/100"), .rangeFault),
            .rest(206, part("bytes */100"), .rangeFault),
            .rest(206, part("bytes 50-99/100, bytes 0-1/100"), .rangeFault),
            .rest(206, part("bytes 50-99/9223372036854775808"), .rangeFault),
            .firstWindow(206, part(nil), .rangeFault),
        ] as [InterpretedExchange])
    func `rule 14: a part without a valid Content-Range is never appended`(_ exchange: InterpretedExchange) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        arguments: [
            .rest(206, part("bytes 51-99/100"), .rangeFault),
            .rest(206, part("bytes 0-49/100"), .rangeFault),
            .rest(206, part("bytes 0-50/100"), .append(skipped: 50, end: 51)),
            .rest(206, part("bytes 48-99/100", ["Content-Length": "52"]), .append(skipped: 2, end: 100)),
            .firstWindow(206, part("bytes 1-39/100"), .rangeFault),
        ] as [InterpretedExchange])
    func `rule 15: a part at another offset is rejected, but an overlap with received bytes is skipped`(
        _ exchange: InterpretedExchange
    ) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        arguments: [
            .rest(206, part("bytes 99-50/100"), .rangeFault),
            .rest(206, part("bytes 50-100/100"), .rangeFault),
            .rest(206, part("items 50-99/100"), .rangeFault),
        ] as [InterpretedExchange])
    func `rules 16 and 17: contradictory positions and other units are rejected`(_ exchange: InterpretedExchange) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        arguments: [
            .rest(206, part("bytes 50-99/200"), .retryRequest(.everything(.contentChanged))),
            .rest(206, part("bytes 50-98/99"), .retryRequest(.everything(.contentChanged))),
            .rest(206, part("bytes 50-99/*"), .append(end: 100)),
            .rest(206, part("bytes 50-100/*"), .rangeFault),
            .rest(of: .sample(length: nil), 206, part("bytes 50-120/*"), .append(end: 121)),
        ] as [InterpretedExchange])
    func `rule 18: another complete length means another representation, and an unknown one proves nothing`(
        _ exchange: InterpretedExchange
    ) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test func `rules 18 and 47: a part supplies the unknown length and the URL that responded`() {
        let requested = RequestedRange.continuing(at: 50, validator: Representation.sample().validator, window: nil)
        let interpreter = ResponseInterpreter(
            requested: requested, known: .sample(length: nil), received: 50, url: "https://mirror.example/file",
            decodesContent: false, date: .sample)
        let head = ResponseHead(status: StatusCode(206), headers: Self.part("bytes 50-99/100"))
        var expected = Representation.sample()
        expected.finalURL = "https://mirror.example/file"
        #expect(interpreter.decide(head) == .append(.init(skipped: 0, end: 100, representation: expected)))
    }

    @Test(
        arguments: [
            .rest(206, part("bytes 50-50/100"), .append(end: 51)),
            .rest(window: 10, 206, part("bytes 50-51/100"), .append(end: 52)),
            .rest(window: 10, 206, part("bytes 50-60/100"), .rangeFault),
            .firstWindow(206, part("bytes 0-40/100"), .rangeFault),
            .firstWindow(206, part("bytes 0-9/100"), .begin(length: 100, end: 10, validator: "\"v1\"")),
        ] as [InterpretedExchange])
    func `rule 19: a shorter part is accepted, and a longer one is rejected`(_ exchange: InterpretedExchange) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        arguments: [
            .rest(206, part("bytes 50-99/100", ["Content-Length": "49"]), .rangeFault),
            .rest(206, part("bytes 50-99/100", ["Content-Length": "100"]), .rangeFault),
            .rest(206, part("bytes 50-99/100", ["Content-Length": "x"]), .rangeFault),
            .rest(206, part("bytes 50-99/100", ["Content-Length": "50, 51"]), .rangeFault),
        ] as [InterpretedExchange])
    func `rule 20: Content-Length and Content-Range must agree`(_ exchange: InterpretedExchange) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        arguments: [
            .rest(
                206, ["Content-Range": "bytes 50-99/100", "ETag": "\"v2\""], .retryRequest(.everything(.contentChanged))
            ),
            .rest(
                206, ["Content-Range": "bytes 50-99/100", "ETag": "W/\"v1\""],
                .retryRequest(.everything(.contentChanged))),
            .rest(
                206, ["Content-Range": "bytes 50-99/100", "ETag": "v1"], .retryRequest(.everything(.contentChanged))),
            .rest(
                of: .dated(), 206,
                ["Content-Range": "bytes 50-99/100", "Last-Modified": "Mon, 07 Nov 1994 08:49:37 GMT"],
                .retryRequest(.everything(.contentChanged))),
            .rest(206, ["Content-Range": "bytes 50-99/100"], .append(end: 100)),
            .firstWindow(206, ["Content-Range": "bytes 0-39/100"], .retryRequest(.unbounded)),
            .firstWindow(206, ["Content-Range": "bytes 0-39/*"], .retryRequest(.unbounded)),
            .firstWindow(206, ["Content-Range": "bytes 0-39/40"], .begin(length: 40, end: 40)),
            .firstWindow(206, part("bytes 0-39/*"), .begin(length: nil, end: 40, validator: "\"v1\"")),
        ] as [InterpretedExchange])
    func `rule 21: a validator must strongly equal the recorded one, and the condition proves a missing one`(
        _ exchange: InterpretedExchange
    ) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        arguments: [
            .rest(206, ["Content-Type": "multipart/byteranges; boundary=x"], .rangeFault),
            .rest(206, part("bytes 50-99/100", ["Content-Type": "MULTIPART/BYTERANGES"]), .rangeFault),
        ] as [InterpretedExchange])
    func `rule 24: several parts in response to a single range are rejected`(_ exchange: InterpretedExchange) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test func `rule 25: a part is rejected if no range was requested`() {
        let exchange = InterpretedExchange.fresh(206, Self.part("bytes 0-99/100"), .fail(.malformedResponse))
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test func `rule 29: a part without Content-Length is checked as well`() {
        let good = InterpretedExchange.rest(
            206, Self.part("bytes 50-99/100", ["Transfer-Encoding": "chunked"]), .append(end: 100))
        let bad = InterpretedExchange.rest(
            206, Self.part("bytes 40-49/100", ["Transfer-Encoding": "chunked"]), .rangeFault)
        #expect(good.actualVerdict == good.verdict)
        #expect(bad.actualVerdict == bad.verdict)
    }
}
