import TestSupport
import Testing

@testable import LoopbackServer

/// Tests of the response plans of steps with faults.
@Suite(.endsWhenHung)
struct FaultPlanTests {
    private static let bytes = Resource.Body.content(Content(seed: 1, length: 100))

    private func plan(_ step: Step, _ headers: HeaderFields = ["Range": "bytes=20-59"]) -> ResponsePlan {
        ResponsePlanTests.plan(headers, step: step)
    }

    @Test(
        arguments: [
            (.ignoreRange, 200, nil, 0..<100),
            (.rangeShift(-10), 206, "bytes 10-59/100", 10..<60),
            (.rangeShift(10), 206, "bytes 30-59/100", 30..<60),
            (.rangeShift(-99), 206, "bytes 0-59/100", 0..<60),
            (.rangeShift(99), 206, "bytes 59-59/100", 59..<60),
            (.shortRange(5), 206, "bytes 20-24/100", 20..<25),
            (.shortRange(500), 206, "bytes 20-59/100", 20..<60),
            (.unrequestedPartial(from: 50), 206, "bytes 20-59/100", 20..<60),
        ] as [(Fault, Int, String?, Range<Int64>)])
    func `the head describes the bytes that a fault selects`(
        fault: Fault, status: Int, contentRange: String?, range: Range<Int64>
    ) {
        let plan = plan([fault])
        #expect(plan.status == status)
        #expect(plan.headers["Content-Range"] == contentRange)
        #expect(plan.headers["Content-Length"] == "\(range.count)")
        #expect(plan.body == [BodyPart(Self.bytes, range)])
    }

    @Test func `a partial response can be sent without a requested range`() {
        let plan = plan([.unrequestedPartial(from: 50)], [:])
        #expect(plan.status == 206)
        #expect(plan.headers["Content-Range"] == "bytes 50-99/100")
    }

    @Test func `a multipart response has the correct length`() {
        let plan = plan([.multipartByteRanges])
        #expect(plan.status == 206)
        #expect(plan.headers["Content-Type"]?.hasPrefix("multipart/byteranges; boundary=") == true)
        #expect(plan.headers["Content-Range"] == nil)
        #expect(plan.body.count == 3)
        #expect(plan.headers["Content-Length"] == "\(plan.body.reduce(0) { $0 + $1.length })")
    }

    @Test(
        arguments: [
            (.contentRange("bytes 0-1/2"), "Content-Range", "bytes 0-1/2"),
            (.contentRange(nil), "Content-Range", nil),
            (.contentLength(7), "Content-Length", "7"),
            (.entityTag("W/\"x\""), "ETag", "W/\"x\""),
            (.entityTag(nil), "ETag", nil),
            (.header("X-Test", "1"), "X-Test", "1"),
            (.removeHeader("last-modified"), "Last-Modified", nil),
            (.hugeHeader(bytes: 9), "X-Padding", "aaaaaaaaa"),
        ] as [(Fault, String, String?)])
    func `a fault in the head changes its field and not the body`(fault: Fault, name: String, value: String?) {
        let plan = plan([fault])
        #expect(plan.status == 206)
        #expect(plan.headers[name] == value)
        #expect(plan.body == [BodyPart(Self.bytes, 20..<60)])
    }

    @Test func `a fault changes Content-Range in a 416, but does not add it to a 200`() {
        #expect(plan([.contentRange(nil)], ["Range": "bytes=100-"]).headers["Content-Range"] == nil)
        #expect(plan([.contentRange("x")], [:]).headers["Content-Range"] == nil)
    }

    @Test(
        arguments: [
            (.status(200, headers: ["Content-Type": "text/html"], body: "<p>"), 200, "Content-Type", "text/html"),
            (.retryAfter("2"), 503, "Retry-After", "2"),
            (.retryAfter("soon", status: 429), 429, "Retry-After", "soon"),
            (.redirect(location: "/else"), 302, "Location", "/else"),
        ] as [(Fault, Int, String, String)])
    func `a fault can replace the response of the resource`(fault: Fault, status: Int, name: String, value: String) {
        let plan = plan([fault])
        #expect(plan.status == status)
        #expect(plan.headers[name] == value)
        #expect(plan.headers["ETag"] == nil)
        #expect(plan.actions.last == .finish)
    }

    @Test(
        arguments: [
            ([.cut(after: 10)], [.body(part(0..<10), chunked: false), .close(.orderly)]),
            ([.cut(after: 0, .reset)], [.close(.reset)]),
            ([.cut(after: 500)], [.body(part(0..<100), chunked: false), .close(.orderly)]),
            (
                [.stall(after: 10)],
                [.body(part(0..<10), chunked: false), .hold, .body(part(10..<100), chunked: false), .finish]
            ),
            (
                [.cut(after: 30, .reset), .stall(after: 10)],
                [.body(part(0..<10), chunked: false), .hold, .body(part(10..<30), chunked: false), .close(.reset)]
            ),
            (
                [.stall(after: 10), .cut(after: 10)],
                [.body(part(0..<10), chunked: false), .hold, .close(.orderly)]
            ),
            (
                [.extraBytes(5)],
                [
                    .body(part(0..<100), chunked: false), .body(BodyPart(padding: 5), chunked: false),
                    .close(.orderly),
                ]
            ),
            ([.contentLength(7)], [.body(part(0..<100), chunked: false), .close(.orderly)]),
            ([.removeHeader("Content-Length")], [.body(part(0..<100), chunked: false), .close(.orderly)]),
            ([.chunkedWithoutEnd], [.body(part(0..<100), chunked: true), .close(.orderly)]),
            (
                [.trailers(["A: 1", "B: 2"])],
                [
                    .body(part(0..<100), chunked: true), .send(Array("0\r\nA: 1\r\nB: 2\r\n\r\n".utf8)), .finish,
                ]
            ),
        ] as [(Step, [Action])])
    func `an interruption splits the body`(step: Step, expected: [Action]) {
        #expect(plan(step, [:]).actions.dropFirst() == expected[...])
    }

    @Test(
        arguments: [
            (
                [.holdHead, .delayHead(.seconds(1)), .closeBeforeHead(.reset)],
                [.hold, .wait(.seconds(1)), .close(.reset)]
            ),
            ([.closeInsideHead(afterBytes: 6)], [.send(Array("HTTP/1".utf8)), .close(.orderly)]),
        ] as [(Step, [Action])])
    func `the actions before the head have the order of the step`(step: Step, expected: [Action]) {
        let plan = plan(step)
        #expect(plan.actions == expected)
        #expect(plan.status == nil)
    }

    @Test func `nothing is read while a body is sent if the input is ignored`() {
        let (head, body) = (plan([], [:]).actions[0], plan([], [:]).actions[1])
        #expect(plan([.ignoreInput], [:]).actions == [head, .read(false), body, .read(true), .finish])
    }

    @Test func `an endless body declares a length only if another fault sets one`() {
        #expect(plan([.endless]).headers["Content-Length"] == nil)
        #expect(plan([.endless]).headers["Transfer-Encoding"] == "chunked")
        #expect(plan([.endless, .contentLength(7)]).headers["Content-Length"] == "7")
        #expect(plan([.endless]).body.reduce(0) { $0 + $1.length } > 1 << 62)
    }

    private static func part(_ range: Range<Int64>) -> BodyPart {
        BodyPart(bytes, range)
    }
}
