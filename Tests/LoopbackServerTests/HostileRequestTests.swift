import TestSupport
import Testing

@testable import LoopbackServer

/// Tests that no request can crash the server, regardless of its fields.
@Suite(.endsWhenHung)
struct HostileRequestTests {
    private static let huge = ["9223372036854775807", "9223372036854775808", "-9223372036854775808", "1e400", ""]

    private static let lengths: [Int64] = [0, 1, 100, 1 << 62]

    /// Fields with huge, negative, and malformed numbers and dates.
    private static let fields: [HeaderFields] =
        huge.flatMap { number -> [HeaderFields] in
            [
                ["Range": "bytes=\(number)-"], ["Range": "bytes=-\(number)"], ["Range": "bytes=0-\(number)"],
                ["Range": "bytes=\(number)-\(number)"], ["Range": "bytes=\(number)"],
                ["Range": "bytes=1-", "If-Range": "Sun, 06 Nov \(number) 08:49:37 GMT"],
                ["If-Unmodified-Since": "Sun, 06 Nov \(number) 08:49:37 GMT"],
                ["If-Unmodified-Since": "Sun, \(number) Nov 1994 08:49:37 GMT"],
                ["If-Unmodified-Since": "Sun, 06 Nov 1994 \(number):49:37 GMT"],
                ["If-Unmodified-Since": "Sun, 06 Nov 1994 08:\(number):\(number) GMT"],
                ["Content-Length": number], ["Accept-Encoding": "gzip;q=\(number), ;, ;;"],
            ]
        } + [
            ["If-Match": ",,,"], ["If-Match": ""], ["If-Range": ""], ["Range": "bytes==-=-"], ["Range": "\0=\0-\0"],
            ["Connection": ""], ["Accept-Encoding": ",;,"], ["Range": "bytes=0-", "range": "bytes=1-"],
        ]

    /// Steps whose responses depend on numbers in the request.
    private static let steps: [Step] = [
        .plain, [.rangeShift(-1)], [.rangeShift(1)], [.shortRange(1)], [.multipartByteRanges], [.ignoreRange],
        [.unrequestedPartial(from: 50)],
    ]

    @Test(arguments: lengths)
    func `boundary 20: every request has a response`(length: Int64) {
        for ifRange in Resource.IfRangeSupport.allCases {
            var resource = Resource(Content(seed: 1, length: length), entityTag: "\"v1\"")
            resource.lastModified = "Sun, 06 Nov 1994 08:49:37 GMT"
            resource.coding = Resource.ContentCoding("gzip")
            resource.ifRange = ifRange
            for fields in Self.fields {
                for method in ["GET", "HEAD", "", "POST"] {
                    for step in Self.steps {
                        let request = RequestHead(method: method, path: "/%", query: "%%", headers: fields)
                        let plan = ResponsePlan(
                            for: request, of: resource, step: step, now: HTTPDate(seconds: 1_700_000_000))
                        #expect(plan.status != nil)
                    }
                }
            }
        }
    }
}
