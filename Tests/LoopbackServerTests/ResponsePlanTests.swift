import TestSupport
import Testing

@testable import LoopbackServer

/// The fields of a request, and the expected response of a resource without faults.
struct ConformingResponse: Sendable, CustomTestStringConvertible {
    var headers: HeaderFields
    var status: Int
    var contentRange: String?
    var range: Range<Int64>?

    init(_ headers: HeaderFields, _ status: Int, _ contentRange: String? = nil, _ range: Range<Int64>? = nil) {
        self.headers = headers
        self.status = status
        self.contentRange = contentRange
        self.range = range
    }

    var testDescription: String {
        headers.fields.map { "\($0.name): \($0.value)" }.joined(separator: ", ")
    }
}

@Suite(.endsWhenHung)
struct ResponsePlanTests {
    static let modified = "Sun, 06 Nov 1994 08:49:37 GMT"
    static let later = "Sun, 06 Nov 1994 08:49:38 GMT"
    static let earlier = "Sun, 06 Nov 1994 08:49:36 GMT"
    static let now = HTTPDate(seconds: 1_700_000_000)

    static var resource: Resource {
        var resource = Resource(Content(seed: 1, length: 100), entityTag: "\"v1\"")
        resource.lastModified = modified
        return resource
    }

    static func plan(
        _ headers: HeaderFields = [:], method: String = "GET", of resource: Resource? = resource, step: Step = .plain
    ) -> ResponsePlan {
        ResponsePlan(for: RequestHead(method: method, headers: headers), of: resource, step: step, now: now)
    }

    @Test(arguments: [
        ConformingResponse([:], 200, nil, 0..<100),
        ConformingResponse(["Range": "bytes=0-"], 206, "bytes 0-99/100", 0..<100),
        ConformingResponse(["Range": "bytes=10-19"], 206, "bytes 10-19/100", 10..<20),
        ConformingResponse(["Range": "bytes=90-200"], 206, "bytes 90-99/100", 90..<100),
        ConformingResponse(["Range": "bytes=-1"], 206, "bytes 99-99/100", 99..<100),
        ConformingResponse(["Range": "bytes=100-"], 416, "bytes */100"),
        ConformingResponse(["Range": "bytes=-0"], 416, "bytes */100"),
        ConformingResponse(["Range": "bytes=0-1,4-5"], 200, nil, 0..<100),
        ConformingResponse(["Range": "bytes=9-5"], 200, nil, 0..<100),
        ConformingResponse(["Range": "bytes=10-", "If-Range": "\"v1\""], 206, "bytes 10-99/100", 10..<100),
        ConformingResponse(["Range": "bytes=10-", "If-Range": "\"v2\""], 200, nil, 0..<100),
        ConformingResponse(["Range": "bytes=10-", "If-Range": "W/\"v1\""], 200, nil, 0..<100),
        ConformingResponse(["Range": "bytes=10-", "If-Range": modified], 206, "bytes 10-99/100", 10..<100),
        ConformingResponse(["Range": "bytes=10-", "If-Range": later], 200, nil, 0..<100),
        ConformingResponse(["Range": "bytes=100-", "If-Range": "\"v2\""], 200, nil, 0..<100),
        ConformingResponse(["If-Range": "\"v2\""], 200, nil, 0..<100),
        ConformingResponse(["Range": "bytes=10-", "If-Match": "\"v0\", \"v1\""], 206, "bytes 10-99/100", 10..<100),
        ConformingResponse(["Range": "bytes=10-", "If-Match": "\"v2\""], 412),
        ConformingResponse(["If-Match": "*"], 200, nil, 0..<100),
        ConformingResponse(["If-Match": "W/\"v1\""], 412),
        ConformingResponse(["If-Unmodified-Since": modified], 200, nil, 0..<100),
        ConformingResponse(["If-Unmodified-Since": earlier], 412),
        ConformingResponse(["If-Match": "\"v1\"", "If-Unmodified-Since": earlier], 200, nil, 0..<100),
    ])
    func `ranges and conditions are evaluated according to RFC 9110`(expected: ConformingResponse) throws {
        let plan = Self.plan(expected.headers)
        #expect(plan.status == expected.status)
        #expect(plan.headers["Content-Range"] == expected.contentRange)
        if let range = expected.range {
            #expect(plan.body == [BodyPart(.content(Content(seed: 1, length: 100)), range)])
            #expect(plan.headers["ETag"] == "\"v1\"")
        }
        let body = try #require(plan.body.first)
        #expect(plan.headers["Content-Length"] == "\(body.length)")
        #expect(plan.actions.dropFirst() == [.body(body, chunked: false), .finish])
    }

    @Test func `a weak tag, and a date that is not older than the response, are not strong validators`() {
        var resource = Self.resource
        resource.entityTag = "W/\"v1\""
        resource.date = Self.modified
        for validator in ["W/\"v1\"", Self.modified] {
            #expect(Self.plan(["Range": "bytes=1-", "If-Range": validator], of: resource).status == 200)
        }
        #expect(Self.plan(["If-Match": "W/\"v1\""], of: resource).status == 412)
    }

    @Test(
        arguments: [
            (.unannounced, 206, nil), (.ignored, 200, nil), (.announcedOnly, 200, "bytes"), (.refused, 416, nil),
        ] as [(Resource.RangeSupport, Int, String?)])
    func `the support for ranges can be limited`(support: Resource.RangeSupport, status: Int, announced: String?) {
        var resource = Self.resource
        resource.ranges = support
        let plan = Self.plan(["Range": "bytes=1-"], of: resource)
        #expect(plan.status == status)
        #expect(plan.headers["Accept-Ranges"] == announced)
    }

    @Test(
        arguments: [
            (.ignored, "\"v2\"", 206), (.neverMatching, "\"v1\"", 200), (.datesOnly, "\"v1\"", 200),
            (.datesOnly, modified, 206),
        ] as [(Resource.IfRangeSupport, String, Int)])
    func `the support for If-Range can be limited`(support: Resource.IfRangeSupport, validator: String, status: Int) {
        var resource = Self.resource
        resource.ifRange = support
        #expect(Self.plan(["Range": "bytes=1-", "If-Range": validator], of: resource).status == status)
    }

    @Test func `the support for If-Match and If-Unmodified-Since can be disabled`() {
        var resource = Self.resource
        resource.honorsIfMatch = false
        resource.honorsIfUnmodifiedSince = false
        #expect(Self.plan(["If-Match": "\"v2\""], of: resource).status == 200)
        #expect(Self.plan(["If-Unmodified-Since": Self.earlier], of: resource).status == 200)
    }

    @Test func `the response to HEAD has no body and ignores Range`() {
        let plan = Self.plan(["Range": "bytes=1-"], method: "HEAD")
        #expect(plan.status == 200)
        #expect(plan.headers["Content-Length"] == "100")
        #expect(plan.actions.dropFirst() == [.finish])
    }

    @Test func `other methods receive 405, and unknown paths receive 404`() {
        #expect(Self.plan(method: "POST").status == 405)
        #expect(Self.plan(method: "POST").headers["Allow"] == "GET, HEAD")
        #expect(Self.plan(of: nil).status == 404)
    }

    @Test(arguments: ["bytes=0-", "bytes=-5"])
    func `an empty body has a Content-Length of 0 and no partial response`(range: String) {
        let resource = Resource("")
        #expect(Self.plan(of: resource).headers["Content-Length"] == "0")
        #expect(Self.plan(of: resource).actions.dropFirst() == [.finish])
        var chunked = resource
        chunked.framing = .chunked
        #expect(Self.plan(of: chunked).actions.dropFirst() == [.send(Array("0\r\n\r\n".utf8)), .finish])
        let plan = Self.plan(["Range": range], of: resource)
        #expect(plan.status == (range == "bytes=0-" ? 416 : 200))
    }

    @Test(
        arguments: [
            (.contentLength, "5", nil, nil), (.chunked, nil, "chunked", nil), (.closeDelimited, nil, nil, "close"),
        ] as [(Resource.Framing, String?, String?, String?)])
    func `the resource determines the framing`(
        framing: Resource.Framing, length: String?, coding: String?, connection: String?
    ) {
        var resource = Resource("hello")
        resource.framing = framing
        let plan = Self.plan(of: resource)
        #expect(plan.headers["Content-Length"] == length)
        #expect(plan.headers["Transfer-Encoding"] == coding)
        #expect(plan.headers["Connection"] == connection)
        #expect(plan.actions.last == (framing == .closeDelimited ? .close(.orderly) : .finish))
    }

    @Test(arguments: [204, 304, 404, 200])
    func `a response with another status has the whole body, or none if the status forbids it`(status: Int) {
        var resource = Resource("hello")
        resource.status = status
        let plan = Self.plan(status == 200 ? [:] : ["Range": "bytes=1-"], of: resource)
        #expect(plan.status == status)
        #expect(plan.headers["Content-Length"] == (status == 204 || status == 304 ? nil : "5"))
        #expect(plan.actions.count == (status == 204 || status == 304 ? 2 : 3))
    }

    @Test(
        arguments: [
            (nil, nil), ("identity", nil), ("gzip", "gzip"), ("br, gzip;q=0.5", "gzip"), ("gzip;q=0", nil),
        ] as [(String?, String?)])
    func `a coded body is sent to clients that accept the coding`(accepted: String?, expected: String?) {
        var resource = Resource("plain")
        resource.coding = Resource.ContentCoding("gzip", body: "coded!")
        var headers: HeaderFields = [:]
        headers["Accept-Encoding"] = accepted
        let plan = Self.plan(headers, of: resource)
        #expect(plan.headers["Content-Encoding"] == expected)
        #expect(plan.body == [BodyPart(text: expected == nil ? "plain" : "coded!")])
        resource.coding?.onlyIfAccepted = false
        #expect(Self.plan(headers, of: resource).headers["Content-Encoding"] == "gzip")
    }
}
