internal import AsyncDownloads
internal import LoopbackServer

extension Scenario {
    /// Files that consist of several segments, on engines that fetch segments.
    ///
    /// The rules for several connections to one file (rules 8, 21, 52 and 53) are proven with the segments that one
    /// connection fetches in succession.
    package static let segments: [Scenario] = [
        windowed(
            [8, 23], "a whole body in response to a segment is ended, and one exchange requests the rest",
            [.ignoreRange]
        ) {
            $0.offsets = [0, window, window]
        },
        windowed(
            [8, 27, 52], "an object that changes between two segments restarts",
            [.replaceContent(longer, entityTag: "\"v2\"")]
        ) {
            $0.outcome = .file(longer)
            $0.restarts = [.contentChanged]
        },
        windowed([21, 52], "another entity tag in the second segment restarts the file", [.entityTag("\"v2\"")]) {
            $0.restarts = [.contentChanged]
        },
        windowed([21, 52], "a weak entity tag in the second segment restarts the file", [.entityTag("W/\"v1\"")]) {
            $0.restarts = [.contentChanged]
        },
        windowed(
            [18, 52], "another complete length in the second segment restarts the file", [.contentRange(otherLength)]
        ) {
            $0.restarts = [.contentChanged]
        },
        windowed([53, 15], "bytes of the previous segment are skipped", [.rangeShift(-1000)]) { _ in },
        windowed([53, 15], "a segment after a gap is rejected", [.rangeShift(1000)]) { $0.resumptions = [window] },
        windowed(
            [19], "a segment that extends beyond the requested range is rejected", [.header("Content-Range", beyond)]
        ) {
            $0.resumptions = [window]
        },
        windowed([52, 53, 29], "a truncated segment is resumed", [.cut(after: 1_000_000)]) {
            $0.resumptions = [window + 1_000_000]
        },
    ]

    private static let window: Int64 = 8 << 20
    private static let long = Content(seed: 4, length: window * 2 + 1)
    private static let longer = Content(seed: 5, length: window * 2 + 2)
    private static let otherLength = "bytes \(window)-\(2 * window - 1)/\(2 * window)"
    private static let beyond = "bytes \(window)-\(2 * window)/\(2 * window + 1)"

    private static func windowed(
        _ rules: [Int], _ name: String, _ second: Step, _ change: (inout Scenario) -> Void
    ) -> Scenario {
        var scenario = Scenario(
            rules: rules, name: name, resource: Resource(long, entityTag: tag, script: [[], second]),
            outcome: .file(long))
        change(&scenario)
        let reason = "The engine requests all remaining bytes at once and does not use segments."
        scenario.impossible[.httpClient] = reason
        scenario.impossible[.nio] = reason
        #if !canImport(FoundationNetworking)
        scenario.impossible[.urlSession] = reason
        #endif
        return scenario
    }
}
