import AsyncDownloads
import LoopbackServer

extension Scenario {
    /// Partial responses that must not be believed.
    static let lies: [Scenario] = [
        lie([14], "a partial response without Content-Range", .contentRange(nil)),
        lie([14], "an unparsable Content-Range", .contentRange("bytes what")),
        lie(
            [13], "an overflowing Content-Range",
            .contentRange("bytes 100000-99999999999999999999/99999999999999999999")),
        lie([15], "a later start", .rangeShift(10)),
        lie([16], "a last position before the first", .contentRange("bytes 299999-100000/300000")),
        lie([16], "a complete length within the range", .contentRange("bytes 100000-299999/200000")),
        lie([17], "another unit", .contentRange("lines 100000-299999/300000")),
        lie([20], "Content-Length against Content-Range", .contentRange("bytes 100000-299998/300000")),
        lie([24], "several parts", .multipartByteRanges),
        Scenario(
            rules: [14], name: "partial responses that are wrong every time: from the beginning, as a whole",
            resource: interrupted([.contentRange(nil)], then: [.contentRange(nil)]), outcome: .file(content),
            restarts: [.invalidPartialResponse]),
        lie([15, 29], "a later start, in chunks", .rangeShift(10)).on { $0.framing = .chunked },
        lie([14, 29], "no Content-Range, in chunks", .contentRange(nil)).on { $0.framing = .chunked },
        Scenario(
            rules: [18], name: "a complete length that the server does not know is no other length",
            resource: interrupted([.contentRange("bytes 100000-299999/*")]), outcome: .file(content),
            offsets: [0, cut], resumptions: [cut]),
        Scenario(
            rules: [25], name: "a part that nobody asked for", resource: scripted([[.unrequestedPartial()]]),
            outcome: .failure(.malformedResponse), offsets: [0]
        ).exceptOnLinuxURLSession("every request has a Range there, since nothing holds a whole body back"),
        Scenario(
            rules: [25], name: "a part from the middle that nobody asked for",
            resource: scripted([[.unrequestedPartial(from: cut)]]), outcome: .failure(.malformedResponse), offsets: [0]
        ).exceptOnLinuxURLSession("every request has a Range there, since nothing holds a whole body back"),
        Scenario(
            rules: [28], name: "a part under a content coding",
            resource: interrupted([.header("Content-Encoding", "gzip")]),
            outcome: .file(content), restarts: [.contentCodingChanged]),
        Scenario(
            rules: [15], name: "an earlier start: what is there already is passed over",
            resource: interrupted([.rangeShift(-10)]), outcome: .file(content), offsets: [0, cut], resumptions: [cut]),
    ]

    private static func lie(_ rules: [Int], _ name: String, _ fault: Fault) -> Scenario {
        Scenario(
            rules: rules, name: "\(name): refused, and asked again", resource: interrupted([fault]),
            outcome: .file(content), offsets: [0, cut, cut], resumptions: [cut])
    }
}
