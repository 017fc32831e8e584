internal import AsyncDownloads
internal import LoopbackServer

extension Scenario {
    /// Several faults in succession.
    package static let sequences: [Scenario] = [
        Scenario(
            rules: [19], name: "several parts that are shorter than requested are appended",
            resource: interrupted([.shortRange(20_000)], then: [.shortRange(1)], [.shortRange(70_000)]),
            outcome: .file(content), offsets: [0, cut, 120_000, 120_001, 190_001], resumptions: nil),
        Scenario(
            rules: [19, 29], name: "a short part that is truncated is appended as far as it was received",
            resource: interrupted([.shortRange(80_000), .cut(after: 30_000)]), outcome: .file(content),
            offsets: [0, cut, 130_000], resumptions: nil),
        Scenario(
            rules: [29, 36, 37, 14, 19],
            name: "every byte is fetched once despite truncations, an error, a short part, and an invalid part",
            resource: scripted([
                [.cut(after: 50_000)], [.cut(after: 50_000)], [.status(503)], [.cut(after: 50_000)],
                [.shortRange(10_000)], [.contentRange(nil)],
            ]), outcome: .file(content), offsets: [0, 50_000, cut, cut, 150_000, 160_000, 160_000], resumptions: nil),
        Scenario(
            rules: [37], name: "a download survives more interruptions than retries if each follows new bytes",
            resource: scripted((0..<8).map { _ in [.cut(after: 20_000)] }), outcome: .file(content),
            offsets: (0...8).map { $0 * 20_000 }, resumptions: nil),
        Scenario(
            rules: [22, 27], name: "an object that changes twice is downloaded in its last version",
            resource: scripted([
                [.cut(after: cut)], [.replaceContent(changed, entityTag: "\"v2\""), .cut(after: 50_000)],
                [.replaceContent(Content(seed: 3, length: length), entityTag: "\"v3\"")],
            ]), outcome: .file(Content(seed: 3, length: length)), restarts: nil, resumptions: nil),
        Scenario(
            rules: [22, 21], name: "an object that changes back is downloaded without the newer bytes",
            resource: scripted([
                [.cut(after: cut)], [.replaceContent(changed, entityTag: "\"v2\""), .cut(after: 50_000)],
                [.replaceContent(content, entityTag: tag)],
            ]), outcome: .file(content), restarts: nil, resumptions: nil),
        Scenario(
            rules: [10, 11], name: "redirects are followed before each part",
            resource: scripted([
                [.redirect(location: "/object?1")], [.redirect(status: 307, location: "?2")], [.cut(after: cut)],
                [.redirect(status: 308, location: "/object?3")],
            ]), outcome: .file(content), offsets: [0, 0, 0, cut, cut], resumptions: [cut]),
    ]
}
