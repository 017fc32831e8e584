import AsyncDownloads
import LoopbackServer

extension Scenario {
    /// Files longer than one part, on engines that ask for parts: several requests of one object.
    ///
    /// What several connections of one file have to keep (rules 8, 21, 52 and 53) is kept by the parts of one.
    static let windows: [Scenario] = [
        windowed(
            [8, 23], "a whole body in answer to a part is cut off, and the rest asked for in one piece", [.ignoreRange]
        ) {
            $0.offsets = [0, window, window]
        },
        windowed([8, 27, 52], "the object changes between two parts", [.replaceContent(longer, entityTag: "\"v2\"")]) {
            $0.outcome = .file(longer)
            $0.restarts = [.contentChanged]
        },
        windowed([21, 52], "another entity tag in the second part", [.entityTag("\"v2\"")]) {
            $0.restarts = [.contentChanged]
        },
        windowed([21, 52], "a weak entity tag in the second part", [.entityTag("W/\"v1\"")]) {
            $0.restarts = [.contentChanged]
        },
        windowed([18, 52], "another complete length in the second part", [.contentRange(otherLength)]) {
            $0.restarts = [.contentChanged]
        },
        windowed([53, 15], "a part that repeats the end of the one before", [.rangeShift(-1000)]) { _ in },
        windowed([53, 15], "a part that leaves a gap", [.rangeShift(1000)]) { $0.resumptions = [window] },
        windowed([19], "a part that goes beyond what was asked for", [.header("Content-Range", beyond)]) {
            $0.resumptions = [window]
        },
        windowed([52, 53, 29], "a part that is cut", [.cut(after: 1_000_000)]) {
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
        for engine in Engine.allCases where engine.asksForRestAtOnce {
            scenario.impossible[engine] = "It asks for everything at once: the parts are those of interrupted bodies"
        }
        return scenario
    }
}
