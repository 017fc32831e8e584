import TestSupport
import Testing

@testable import LoopbackServer

/// A request's fields, and what is expected of its answer.
struct Honest: Sendable, CustomTestStringConvertible {
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

@Suite("Response plan", .endsWhenHung)
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

    @Test(
        "Ranges and conditions are honoured as RFC 9110 has it",
        arguments: [
            Honest([:], 200, nil, 0..<100),
            Honest(["Range": "bytes=0-"], 206, "bytes 0-99/100", 0..<100),
            Honest(["Range": "bytes=10-19"], 206, "bytes 10-19/100", 10..<20),
            Honest(["Range": "bytes=90-200"], 206, "bytes 90-99/100", 90..<100),
            Honest(["Range": "bytes=-1"], 206, "bytes 99-99/100", 99..<100),
            Honest(["Range": "bytes=100-"], 416, "bytes */100"),
            Honest(["Range": "bytes=-0"], 416, "bytes */100"),
            Honest(["Range": "bytes=0-1,4-5"], 200, nil, 0..<100),
            Honest(["Range": "bytes=9-5"], 200, nil, 0..<100),
            Honest(["Range": "bytes=10-", "If-Range": "\"v1\""], 206, "bytes 10-99/100", 10..<100),
            Honest(["Range": "bytes=10-", "If-Range": "\"v2\""], 200, nil, 0..<100),
            Honest(["Range": "bytes=10-", "If-Range": "W/\"v1\""], 200, nil, 0..<100),
            Honest(["Range": "bytes=10-", "If-Range": modified], 206, "bytes 10-99/100", 10..<100),
            Honest(["Range": "bytes=10-", "If-Range": later], 200, nil, 0..<100),
            Honest(["Range": "bytes=100-", "If-Range": "\"v2\""], 200, nil, 0..<100),
            Honest(["If-Range": "\"v2\""], 200, nil, 0..<100),
            Honest(["Range": "bytes=10-", "If-Match": "\"v0\", \"v1\""], 206, "bytes 10-99/100", 10..<100),
            Honest(["Range": "bytes=10-", "If-Match": "\"v2\""], 412),
            Honest(["If-Match": "*"], 200, nil, 0..<100),
            Honest(["If-Match": "W/\"v1\""], 412),
            Honest(["If-Unmodified-Since": modified], 200, nil, 0..<100),
            Honest(["If-Unmodified-Since": earlier], 412),
            Honest(["If-Match": "\"v1\"", "If-Unmodified-Since": earlier], 200, nil, 0..<100),
        ])
    func honest(expected: Honest) throws {
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

    @Test("A weak tag, and a date not older than the answer, are no validators")
    func weakValidators() {
        var resource = Self.resource
        resource.entityTag = "W/\"v1\""
        resource.date = Self.modified
        for validator in ["W/\"v1\"", Self.modified] {
            #expect(Self.plan(["Range": "bytes=1-", "If-Range": validator], of: resource).status == 200)
        }
        #expect(Self.plan(["If-Match": "W/\"v1\""], of: resource).status == 412)
    }

    @Test(
        "Support for ranges can be taken away",
        arguments: [
            (.unannounced, 206, nil), (.ignored, 200, nil), (.announcedOnly, 200, "bytes"), (.refused, 416, nil),
        ] as [(Resource.RangeSupport, Int, String?)])
    func rangeSupport(support: Resource.RangeSupport, status: Int, announced: String?) {
        var resource = Self.resource
        resource.ranges = support
        let plan = Self.plan(["Range": "bytes=1-"], of: resource)
        #expect(plan.status == status)
        #expect(plan.headers["Accept-Ranges"] == announced)
    }

    @Test(
        "Support for If-Range can be taken away",
        arguments: [
            (.ignored, "\"v2\"", 206), (.neverMatching, "\"v1\"", 200), (.datesOnly, "\"v1\"", 200),
            (.datesOnly, modified, 206),
        ] as [(Resource.IfRangeSupport, String, Int)])
    func ifRangeSupport(support: Resource.IfRangeSupport, validator: String, status: Int) {
        var resource = Self.resource
        resource.ifRange = support
        #expect(Self.plan(["Range": "bytes=1-", "If-Range": validator], of: resource).status == status)
    }

    @Test("Support for the other conditions can be taken away")
    func conditionSupport() {
        var resource = Self.resource
        resource.honoursIfMatch = false
        resource.honoursIfUnmodifiedSince = false
        #expect(Self.plan(["If-Match": "\"v2\""], of: resource).status == 200)
        #expect(Self.plan(["If-Unmodified-Since": Self.earlier], of: resource).status == 200)
    }

    @Test("HEAD is answered without body, and without looking at Range")
    func head() {
        let plan = Self.plan(["Range": "bytes=1-"], method: "HEAD")
        #expect(plan.status == 200)
        #expect(plan.headers["Content-Length"] == "100")
        #expect(plan.actions.dropFirst() == [.finish])
    }

    @Test("Other methods get 405, unknown paths 404")
    func refusals() {
        #expect(Self.plan(method: "POST").status == 405)
        #expect(Self.plan(method: "POST").headers["Allow"] == "GET, HEAD")
        #expect(Self.plan(of: nil).status == 404)
    }

    @Test("An empty body has a Content-Length of 0, and no range", arguments: ["bytes=0-", "bytes=-5"])
    func emptyBody(range: String) {
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
        "The framing is the resource's",
        arguments: [
            (.contentLength, "5", nil, nil), (.chunked, nil, "chunked", nil), (.closeDelimited, nil, nil, "close"),
        ] as [(Resource.Framing, String?, String?, String?)])
    func framing(framing: Resource.Framing, length: String?, coding: String?, connection: String?) {
        var resource = Resource("hello")
        resource.framing = framing
        let plan = Self.plan(of: resource)
        #expect(plan.headers["Content-Length"] == length)
        #expect(plan.headers["Transfer-Encoding"] == coding)
        #expect(plan.headers["Connection"] == connection)
        #expect(plan.actions.last == (framing == .closeDelimited ? .close(.orderly) : .finish))
    }

    @Test("A status of one's own is answered whole; those without a body have none", arguments: [204, 304, 404, 200])
    func ownStatus(status: Int) {
        var resource = Resource("hello")
        resource.status = status
        let plan = Self.plan(status == 200 ? [:] : ["Range": "bytes=1-"], of: resource)
        #expect(plan.status == status)
        #expect(plan.headers["Content-Length"] == (status == 204 || status == 304 ? nil : "5"))
        #expect(plan.actions.count == (status == 204 || status == 304 ? 2 : 3))
    }

    @Test(
        "A coded body goes to those who accept it",
        arguments: [
            (nil, nil), ("identity", nil), ("gzip", "gzip"), ("br, gzip;q=0.5", "gzip"), ("gzip;q=0", nil),
        ] as [(String?, String?)])
    func coding(accepted: String?, expected: String?) {
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
