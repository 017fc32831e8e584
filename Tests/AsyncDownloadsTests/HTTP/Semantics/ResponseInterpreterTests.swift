internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("ResponseInterpreter", .endsWhenHung)
struct ResponseInterpreterTests {
    private static let dates: HeaderFields = [
        "Date": "Mon, 07 Nov 1994 08:49:37 GMT", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT",
    ]

    @Test(
        arguments: [
            .fresh(200, ["Content-Length": "100"], .begin(length: 100, end: 100)),
            .fresh(
                200, ["Content-Length": "100", "ETag": "\"v1\""],
                .begin(length: 100, end: 100, validator: "\"v1\"")),
            .fresh(203, ["Content-Length": "7"], .begin(length: 7, end: 7)),
            .fresh(200, ["Content-Length": "100", "ETag": "W/\"v1\""], .begin(length: 100, end: 100)),
            .fresh(200, ["ETag": "v1"], .begin(length: nil, end: nil)),
            .fresh(200, dates, .begin(length: nil, end: nil, validator: "Sun, 06 Nov 1994 08:49:37 GMT")),
            .fresh(
                200, ["Date": "Sun, 06 Nov 1994 08:49:40 GMT", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"],
                .begin(length: nil, end: nil)),
            .firstWindow(
                200, ["Content-Length": "100", "ETag": "\"v1\""],
                .begin(length: 100, end: 100, validator: "\"v1\"")),
        ] as [InterpretedExchange])
    func `rules 2 and 3: a whole body begins a representation with its strong validator`(
        _ exchange: InterpretedExchange
    ) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        arguments: [
            .fresh(200, [:], .begin(length: nil, end: nil)),
            .fresh(200, ["Content-Length": "0"], .begin(length: 0, end: 0)),
            .fresh(200, ["Transfer-Encoding": "chunked"], .begin(length: nil, end: nil)),
        ] as [InterpretedExchange])
    func `rule 47: a missing length is not an error, and zero is a length`(_ exchange: InterpretedExchange) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        arguments: [
            .fresh(200, ["Content-Length": "9223372036854775808"], .fail(.malformedResponse, retryable: true)),
            .fresh(200, ["Content-Length": "-1"], .fail(.malformedResponse, retryable: true)),
            .fresh(200, ["Content-Length": "100, 200"], .fail(.malformedResponse, retryable: true)),
            .fresh(200, ["Content-Length": "0x10"], .fail(.malformedResponse, retryable: true)),
            .rest(200, ["Content-Length": "18446744073709551716"], .fail(.malformedResponse, retryable: true)),
            .fresh(200, ["Transfer-Encoding": "gzip, chunked"], .fail(.malformedResponse, retryable: false)),
        ] as [InterpretedExchange])
    func `rules 13 and 28: a body with an invalid or huge length, or an unknown coding, is rejected`(
        _ exchange: InterpretedExchange
    ) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        arguments: [
            .rest(
                200, ["Content-Length": "120", "ETag": "\"v2\""],
                .begin(length: 120, end: 120, .contentChanged, validator: "\"v2\"")),
            .rest(200, ["Content-Length": "100"], .begin(length: 100, end: 100, .contentChanged)),
            .rest(
                200, ["Content-Length": "100", "ETag": "W/\"v1\""], .begin(length: 100, end: 100, .contentChanged)),
            .rest(
                200, ["Content-Length": "101", "ETag": "\"v1\""],
                .begin(length: 101, end: 101, .contentChanged, validator: "\"v1\"")),
            .rest(
                of: .dated(), 200, ["Content-Length": "100", "Last-Modified": "Sun, 06 Nov 1994 08:49:38 GMT"],
                .begin(length: 100, end: 100, .contentChanged)),
        ] as [InterpretedExchange])
    func `rule 22: a whole body in response to a range restarts the file with a reason`(
        _ exchange: InterpretedExchange
    ) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        arguments: [
            .rest(
                200, ["Content-Length": "100", "ETag": "\"v1\""],
                .begin(length: 100, end: 100, .rangeIgnored, validator: "\"v1\"")),
            .rest(200, ["ETag": "\"v1\""], .begin(length: nil, end: nil, .rangeIgnored, validator: "\"v1\"")),
            .rest(
                of: .dated(), 200, ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"],
                .begin(length: nil, end: nil, .rangeIgnored)),
        ] as [InterpretedExchange])
    func `a whole body of the same representation means that the range was ignored`(_ exchange: InterpretedExchange) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        arguments: [
            (Int64?(100), "100", true), (100, "101", false), (100, nil, true), (nil, "100", true), (nil, nil, true),
        ] as [(Int64?, String?, Bool)])
    func `rule 35: an equal digest speaks for the received bytes unless the length contradicts it`(
        _ known: Int64?, _ contentLength: String?, _ isRequestRepeated: Bool
    ) {
        var representation = Representation.sample()
        representation.length = known
        representation.digests = [.sha256(String(repeating: "00", count: 32))]
        let zeros = String(repeating: "A", count: 43) + "="
        var headers: HeaderFields = ["ETag": "\"v2\"", "Repr-Digest": "sha-256=:\(zeros):"]
        headers["Content-Length"] = contentLength
        let length = contentLength.flatMap { Int64($0) }
        let verdict: Verdict =
            isRequestRepeated
            ? .retryRequest(.withoutCondition)
            : .begin(length: length, end: length, .contentChanged, validator: "\"v2\"")
        let exchange = InterpretedExchange.rest(of: representation, 200, headers, verdict)
        #expect(exchange.droppable(verdict).actualVerdict == verdict)
    }

    @Test(
        arguments: [
            .rest(200, ["Content-Length": "100", "ETag": "\"v1\""], .retryRequest(.withoutCondition)),
            .rest(200, ["ETag": "\"v1\""], .retryRequest(.withoutCondition)),
            .rest(
                200, ["Content-Length": "101", "ETag": "\"v1\""],
                .begin(length: 101, end: 101, .contentChanged, validator: "\"v1\"")),
            .rest(
                200, ["Content-Length": "100", "ETag": "\"v2\""],
                .begin(length: 100, end: 100, .contentChanged, validator: "\"v2\"")),
            .rest(200, ["Content-Length": "100"], .begin(length: 100, end: 100, .contentChanged)),
            .rest(
                of: .dated(), 200, ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"],
                .begin(length: nil, end: nil, .rangeIgnored)),
        ] as [InterpretedExchange])
    func `rule 34: a whole body with the same entity tag and length does not discard the bytes yet`(
        _ exchange: InterpretedExchange
    ) {
        #expect(exchange.droppable(exchange.verdict).actualVerdict == exchange.verdict)
    }

    @Test(
        arguments: [
            .unconditionalRest(206, ["Content-Range": "bytes 50-99/100", "ETag": "\"v1\""], .append(end: 100)),
            .unconditionalRest(206, ["Content-Range": "bytes 50-99/100"], .retryRequest(.everything(.noValidator))),
            .unconditionalRest(
                206, ["Content-Range": "bytes 50-99/100", "ETag": "W/\"v1\""],
                .retryRequest(.everything(.contentChanged))),
            .unconditionalRest(
                206, ["Content-Range": "bytes 50-99/100", "ETag": "\"v2\""], .retryRequest(.everything(.contentChanged))
            ),
            .unconditionalRest(
                206, ["Content-Range": "bytes 50-99/101", "ETag": "\"v1\""], .retryRequest(.everything(.contentChanged))
            ),
            .unconditionalRest(
                200, ["Content-Length": "100", "ETag": "\"v1\""],
                .begin(length: 100, end: 100, .rangeIgnored, validator: "\"v1\"")),
            .unconditionalRest(
                of: .sample(length: nil), 416, ["Content-Range": "bytes */50", "ETag": "\"v1\""], .complete(50)),
            .unconditionalRest(
                of: .sample(length: nil), 416, ["Content-Range": "bytes */50"],
                .retryRequest(.everything(.contentChanged))),
        ] as [InterpretedExchange])
    func `rules 21 and 34: a response to a request without a condition is used only if it proves itself`(
        _ exchange: InterpretedExchange
    ) {
        #expect(exchange.droppable(exchange.verdict).actualVerdict == exchange.verdict)
    }

    @Test func `rule 23: a whole body in response to a segment is not read, and one exchange requests the rest`() {
        let exchange = InterpretedExchange.rest(
            window: 40, 200, ["Content-Length": "100", "ETag": "\"v1\""], .retryRequest(.unbounded))
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        arguments: [
            .fresh(
                200, ["Content-Length": "30", "Content-Encoding": "x-gzip", "ETag": "\"v1\""],
                .begin(length: 30, end: 30, validator: "\"v1\"", coding: "gzip")),
            .fresh(
                200, ["Content-Length": "30", "Content-Encoding": "identity"], .begin(length: 30, end: 30)),
            .fresh(
                200, ["Content-Length": "30", "Content-Encoding": "br"], decodes: true,
                .begin(length: nil, end: nil, coding: "br")),
            .fresh(200, ["Content-Length": "30"], decodes: true, .begin(length: 30, end: 30)),
            .rest(
                206, ["Content-Range": "bytes 50-99/100", "ETag": "\"v1\"", "Content-Encoding": "gzip"],
                .retryRequest(.everything(.contentCodingChanged))),
            .firstWindow(
                206, ["Content-Range": "bytes 0-39/100", "ETag": "\"v1\"", "Content-Encoding": "gzip"],
                .retryRequest(.unbounded)),
            .rest(
                206, ["Content-Range": "bytes 50-99/100", "ETag": "\"v1\"", "Content-Encoding": "identity"],
                .append(end: 100)),
        ] as [InterpretedExchange])
    func `rule 28: a coded body is stored whole with its coding, and never continues another one`(
        _ exchange: InterpretedExchange
    ) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        arguments: [
            .rest(
                of: .sample(type: "application/zip"), 200, ["Content-Type": "text/html", "Content-Length": "9"],
                .fail(.unexpectedHTML, retryable: true)),
            .rest(200, ["Content-Type": "Text/HTML; charset=utf-8"], .fail(.unexpectedHTML, retryable: true)),
            .rest(
                of: .sample(type: "text/html"), 200, ["Content-Type": "text/html", "Content-Length": "9"],
                .begin(length: 9, end: 9, .contentChanged)),
            .rest(
                200, ["Content-Type": "text/html", "Content-Length": "9", "ETag": "\"v2\""],
                .begin(length: 9, end: 9, .contentChanged, validator: "\"v2\"")),
            .rest(
                200, ["Content-Type": "text/html", "Content-Length": "100"],
                .begin(length: 100, end: 100, .contentChanged)),
            .fresh(200, ["Content-Type": "text/html", "Content-Length": "9"], .begin(length: 9, end: 9)),
        ] as [InterpretedExchange])
    func `rule 31: a web page without a validator does not replace a file of another type and length`(
        _ exchange: InterpretedExchange
    ) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test func `the metadata of the representation is recorded with a sanitized name`() {
        let headers: HeaderFields = [
            "Content-Length": "5", "Content-Type": "text/csv", "Last-Modified": "yesterday",
            "Content-Disposition": "attachment; filename=\"../../etc/passwd\"",
        ]
        let interpreter = ResponseInterpreter(
            requested: .everything, known: nil, received: 0, url: "https://b.example/x", decodesContent: false,
            date: .sample)
        let expected = Representation(
            finalURL: "https://b.example/x", length: 5, contentType: "text/csv",
            suggestedName: FileName.sanitized("../../etc/passwd"), lastModified: "yesterday")
        #expect(
            interpreter.decide(ResponseHead(status: StatusCode(200), headers: headers))
                == .begin(expected, end: 5, restart: nil))
        #expect(expected.suggestedName?.contains("/") == false)
    }
}
