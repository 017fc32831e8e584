internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("ResponseInterpreter, other statuses", .endsWhenHung)
struct StatusInterpreterTests {
    private static let unknown = Representation.sample(length: nil)

    @Test(
        arguments: [
            .rest(of: unknown, 416, ["Content-Range": "bytes */50"], .complete(50)),
            .rest(of: unknown, 416, ["Content-Range": "bytes */50", "ETag": "\"v1\""], .complete(50)),
            .rest(of: unknown, window: 40, 416, ["Content-Range": "bytes */50"], .complete(50)),
            .rest(
                of: unknown, 416, ["Content-Range": "bytes */50", "ETag": "\"v2\""],
                .retryRequest(.everything(.contentChanged))),
            .rest(416, ["Content-Range": "bytes */50", "ETag": "\"v1\""], .retryRequest(.everything(.contentChanged))),
            .rest(416, ["Content-Range": "bytes */49"], .retryRequest(.everything(.contentChanged))),
            .rest(416, ["Content-Range": "bytes */100"], .retryRequest(.everything(.contentChanged))),
            .rest(416, [:], .retryRequest(.everything(.rangeNotSatisfiable))),
            .rest(416, ["Content-Range": "bytes */*"], .retryRequest(.everything(.rangeNotSatisfiable))),
            .rest(416, ["Content-Range": "bytes 0-49/50"], .retryRequest(.everything(.rangeNotSatisfiable))),
            .firstWindow(416, ["Content-Range": "bytes */0"], .retryRequest(.unbounded)),
            .fresh(416, ["Content-Range": "bytes */0"], .fail(.httpStatus)),
        ] as [InterpretedExchange])
    func `rule 26: 416 means complete only if the length and the validator prove it`(_ exchange: InterpretedExchange) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        arguments: [
            .rest(window: 40, 412, [:], .retryRequest(.everything(.contentChanged))),
            .rest(412, ["ETag": "\"v1\""], .retryRequest(.everything(.contentChanged))),
            .firstWindow(412, [:], .fail(.httpStatus)),
            .fresh(412, [:], .fail(.httpStatus)),
        ] as [InterpretedExchange])
    func `rule 27: 412 means another representation if the request had a condition`(_ exchange: InterpretedExchange) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(arguments: [
        201, 202, 204, 205, 207, 226, 300, 304, 305, 400, 401, 403, 404, 407, 410, 451, 501, 505, 525, 600,
    ])
    func `rules 31 and 32: the body of another status never becomes part of the file`(_ status: Int) {
        for exchange in [
            InterpretedExchange.fresh(status, ["Content-Length": "100", "Retry-After": "5"], .fail(.httpStatus)),
            .rest(status, ["Content-Range": "bytes 50-99/100", "ETag": "\"v1\""], .fail(.httpStatus)),
        ] {
            #expect(exchange.actualVerdict == exchange.verdict)
        }
    }

    @Test(arguments: [408, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524])
    func `rule 36: a temporary failure is worth a retry`(_ status: Int) {
        let exchange = InterpretedExchange.rest(status, [:], .fail(.httpStatus, retryable: true))
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(
        arguments: [
            .fresh(503, ["Retry-After": "7"], .fail(.httpStatus, retryable: true, after: .seconds(7))),
            .fresh(
                429, ["Retry-After": "Mon, 07 Nov 1994 08:50:37 GMT"],
                .fail(.httpStatus, retryable: true, after: .seconds(60))),
            .fresh(503, ["Retry-After": "soon"], .fail(.httpStatus, retryable: true)),
            .fresh(503, ["Retry-After": "-3"], .fail(.httpStatus, retryable: true)),
        ] as [InterpretedExchange])
    func `rule 37: Retry-After is read in both forms`(_ exchange: InterpretedExchange) {
        #expect(exchange.actualVerdict == exchange.verdict)
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `a redirect is followed for every kind of request`(_ status: Int) {
        for exchange in [
            InterpretedExchange.fresh(status, ["Location": "/x"], .redirect("/x")),
            .rest(status, ["Location": "/y", "Content-Range": "bytes 50-99/100"], .redirect("/y")),
            .rest(window: 40, status, [:], .redirect(nil)),
        ] {
            #expect(exchange.actualVerdict == exchange.verdict)
        }
    }
}

@Suite("RequestedRange", .endsWhenHung)
struct RequestedRangeTests {
    private static let tag = Representation.sample().validator
    private static let date = Representation.dated().validator

    @Test(
        arguments: [
            (.everything, HeaderFields()),
            (.continuing(at: 0, validator: tag, window: nil), HeaderFields()),
            (.continuing(at: 5, validator: tag, window: nil), ["Range": "bytes=5-", "If-Range": "\"v1\""]),
            (
                .continuing(at: 5, validator: date, window: nil),
                ["Range": "bytes=5-", "If-Range": "Sun, 06 Nov 1994 08:49:37 GMT"]
            ),
            (.continuing(at: 0, validator: tag, window: 10), ["Range": "bytes=0-9"]),
            (.continuing(at: 5, validator: tag, window: 10), ["Range": "bytes=5-14", "If-Match": "\"v1\""]),
            (
                .continuing(at: 5, validator: date, window: 10),
                ["Range": "bytes=5-14", "If-Unmodified-Since": "Sun, 06 Nov 1994 08:49:37 GMT"]
            ),
        ] as [(RequestedRange, HeaderFields)])
    func `rules 1, 3, 4, 7 and 8: a request has a single range and the condition that belongs to it`(
        _ requested: RequestedRange, _ fields: HeaderFields
    ) {
        #expect(requested.fields == fields)
    }

    @Test(arguments: [nil, 10])
    func `rule 5: nothing is resumed without a validator`(_ window: Int64?) {
        #expect(RequestedRange.continuing(at: 5, validator: nil, window: window) == .everything)
    }

    @Test func `rule 13: a segment near the largest number has no end, and no request is malformed`() {
        let requested = RequestedRange.continuing(at: 1 << 62, validator: Self.tag, window: .max)
        #expect(requested.range?.last == nil)
        #expect(!requested.isBounded)
        #expect(RequestedRange.continuing(at: .max, validator: Self.tag, window: 10).fields.isEmpty)
    }
}
