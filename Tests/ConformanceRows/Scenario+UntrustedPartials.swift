internal import AsyncDownloads
internal import LoopbackServer

extension Scenario {
    /// Partial responses that must not be trusted.
    package static let untrustedPartials: [Scenario] = [
        rejected([14], "a part without Content-Range", .contentRange(nil)),
        rejected([14], "a part with a malformed Content-Range", .contentRange("bytes what")),
        rejected(
            [13], "a part with an overflowing Content-Range",
            .contentRange("bytes 100000-99999999999999999999/99999999999999999999")),
        rejected([15], "a part that begins later", .rangeShift(10)),
        rejected([16], "a part with reversed positions", .contentRange("bytes 299999-100000/300000")),
        rejected([16], "a part with a complete length within it", .contentRange("bytes 100000-299999/200000")),
        rejected([17], "a part with another unit", .contentRange("lines 100000-299999/300000")),
        rejected([20], "a part with a contradictory Content-Length", .contentRange("bytes 100000-299998/300000")),
        rejected([24], "a response with several parts", .multipartByteRanges),
        Scenario(
            rules: [14], name: "repeated invalid partial responses restart the file without a range",
            resource: interrupted([.contentRange(nil)], then: [.contentRange(nil)]), outcome: .file(content),
            restarts: [.invalidPartialResponse]),
        rejected([15, 29], "a chunked part that begins later", .rangeShift(10)).on { $0.framing = .chunked },
        rejected([14, 29], "a chunked part without Content-Range", .contentRange(nil)).on { $0.framing = .chunked },
        Scenario(
            rules: [18], name: "an unknown complete length does not mean another object",
            resource: interrupted([.contentRange("bytes 100000-299999/*")]), outcome: .file(content),
            offsets: [0, cut], resumptions: [cut]),
        Scenario(
            rules: [25], name: "a part is rejected if no range was requested",
            resource: scripted([[.unrequestedPartial()]]),
            outcome: .failure(.malformedResponse), offsets: [0]
        ).exceptOnLinuxURLSession("Every request has a Range field, because the engine cannot hold back a whole body."),
        Scenario(
            rules: [25], name: "a part from the middle is rejected if no range was requested",
            resource: scripted([[.unrequestedPartial(from: cut)]]), outcome: .failure(.malformedResponse), offsets: [0]
        ).exceptOnLinuxURLSession("Every request has a Range field, because the engine cannot hold back a whole body."),
        Scenario(
            rules: [28], name: "a part with a content coding restarts the file",
            resource: interrupted([.header("Content-Encoding", "gzip")]),
            outcome: .file(content), restarts: [.contentCodingChanged]),
        Scenario(
            rules: [15], name: "the beginning of a part is skipped if it was received before",
            resource: interrupted([.rangeShift(-10)]), outcome: .file(content), offsets: [0, cut], resumptions: [cut]),
    ]

    private static func rejected(_ rules: [Int], _ name: String, _ fault: Fault) -> Scenario {
        Scenario(
            rules: rules, name: "\(name) is rejected and requested again", resource: interrupted([fault]),
            outcome: .file(content), offsets: [0, cut, cut], resumptions: [cut])
    }
}
