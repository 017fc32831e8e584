internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("ResponseInterpreter", .endsWhenHung)
struct ResponseInterpreterTests {
    private static let dates: HeaderFields = [
        "Date": "Mon, 07 Nov 1994 08:49:37 GMT", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT",
    ]

    @Test(
        "a whole body begins a representation, with the validator that it proves (rules 2 and 3)",
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
    func whole(_ exchange: InterpretedExchange) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        "rule 47: no length is no error, and no bytes are a length",
        arguments: [
            .fresh(200, [:], .begin(length: nil, end: nil)),
            .fresh(200, ["Content-Length": "0"], .begin(length: 0, end: 0)),
            .fresh(200, ["Transfer-Encoding": "chunked"], .begin(length: nil, end: nil)),
        ] as [InterpretedExchange])
    func length(_ exchange: InterpretedExchange) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        "rule 13: a body whose length is no number, or a huge one, is not begun",
        arguments: [
            .fresh(200, ["Content-Length": "9223372036854775808"], .fail(.malformedResponse, retryable: true)),
            .fresh(200, ["Content-Length": "-1"], .fail(.malformedResponse, retryable: true)),
            .fresh(200, ["Content-Length": "100, 200"], .fail(.malformedResponse, retryable: true)),
            .fresh(200, ["Content-Length": "0x10"], .fail(.malformedResponse, retryable: true)),
            .rest(200, ["Content-Length": "18446744073709551716"], .fail(.malformedResponse, retryable: true)),
        ] as [InterpretedExchange])
    func hugeLength(_ exchange: InterpretedExchange) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        "rule 22: a whole body in answer to a range begins again, and says why",
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
    func changed(_ exchange: InterpretedExchange) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        "a whole body of the same representation, where nothing else is left to ask for, is a range ignored",
        arguments: [
            .rest(
                200, ["Content-Length": "100", "ETag": "\"v1\""],
                .begin(length: 100, end: 100, .rangeIgnored, validator: "\"v1\"")),
            .rest(200, ["ETag": "\"v1\""], .begin(length: nil, end: nil, .rangeIgnored, validator: "\"v1\"")),
            .rest(
                of: .dated(), 200, ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"],
                .begin(length: nil, end: nil, .rangeIgnored)),
        ] as [InterpretedExchange])
    func ignored(_ exchange: InterpretedExchange) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        "rule 35: a digest speaks for the bytes at hand where nothing contradicts it, known lengths included",
        arguments: [
            (Int64?(100), "100", true), (100, "101", false), (100, nil, true), (nil, "100", true), (nil, nil, true),
        ] as [(Int64?, String?, Bool)])
    func agreeing(_ known: Int64?, _ told: String?, _ isAsked: Bool) {
        var representation = Representation.sample()
        representation.length = known
        representation.digests = [.sha256(String(repeating: "00", count: 32))]
        let zeros = String(repeating: "A", count: 43) + "="
        var headers: HeaderFields = ["ETag": "\"v2\"", "Repr-Digest": "sha-256=:\(zeros):"]
        headers["Content-Length"] = told
        let length = told.flatMap { Int64($0) }
        let verdict: Verdict =
            isAsked
            ? .retryRequest(.withoutCondition)
            : .begin(length: length, end: length, .contentChanged, validator: "\"v2\"")
        let exchange = InterpretedExchange.rest(of: representation, 200, headers, verdict)
        #expect(exchange.droppable(verdict).actualVerdict == verdict)
    }

    @Test(
        "rule 34: a whole body with the same entity tag and length is no reason yet to give the bytes up",
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
    func misunderstood(_ exchange: InterpretedExchange) {
        #expect(exchange.droppable(exchange.verdict).actualVerdict == exchange.verdict)
    }

    @Test(
        "rules 21 and 34: what answers without a condition proves itself, or is not used",
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
    func unconditional(_ exchange: InterpretedExchange) {
        #expect(exchange.droppable(exchange.verdict).actualVerdict == exchange.verdict)
    }

    @Test("rule 23: a whole body in answer to a window is not read; the rest is asked for in one stream")
    func wholeForWindow() {
        let exchange = InterpretedExchange.rest(
            window: 40, 200, ["Content-Length": "100", "ETag": "\"v1\""], .retryRequest(.unbounded))
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        "rule 28: a coded body is taken whole under its coding, and never continues another",
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
    func coded(_ exchange: InterpretedExchange) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        "rule 31: a web page without a validator does not replace a file of another type and length",
        arguments: [
            .rest(
                of: .sample(type: "application/zip"), 200, ["Content-Type": "text/html", "Content-Length": "9"],
                .fail(.malformedResponse, retryable: true)),
            .rest(200, ["Content-Type": "Text/HTML; charset=utf-8"], .fail(.malformedResponse, retryable: true)),
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
    func portal(_ exchange: InterpretedExchange) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test("what the server says of the representation is remembered, and its name is made harmless")
    func remembered() {
        let headers: HeaderFields = [
            "Content-Length": "5", "Content-Type": "text/csv", "Last-Modified": "yesterday",
            "Content-Disposition": "attachment; filename=\"../../etc/passwd\"",
        ]
        let interpreter = ResponseInterpreter(
            asked: .everything, known: nil, received: 0, url: "https://b.example/x", decodesContent: false,
            date: .sample)
        let expected = Representation(
            finalURL: "https://b.example/x", length: 5, contentType: "text/csv",
            suggestedName: FileName.sanitised("../../etc/passwd"), lastModified: "yesterday")
        #expect(
            interpreter.decide(ResponseHead(status: StatusCode(200), headers: headers))
                == .begin(expected, end: 5, restart: nil))
        #expect(expected.suggestedName?.contains("/") == false)
    }
}
