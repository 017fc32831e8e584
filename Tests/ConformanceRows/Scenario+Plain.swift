internal import AsyncDownloads
internal import LoopbackServer

extension Scenario {
    /// Correct servers, and servers that interrupt a body.
    package static let plain: [Scenario] = [
        Scenario(
            rules: [29], name: "a body of known length completes", resource: Resource(content, entityTag: tag),
            outcome: .file(content), offsets: [0]),
        Scenario(
            rules: [47], name: "an empty file completes",
            resource: Resource(Content(seed: 1, length: 0), entityTag: tag),
            outcome: .file(Content(seed: 1, length: 0))),
        Scenario(
            rules: [47], name: "a chunked body of unknown length completes",
            resource: Resource(content, entityTag: tag),
            outcome: .file(content)
        ).on {
            $0.framing = .chunked; $0.ranges = .ignored
        },
        Scenario(
            rules: [47], name: "a body that ends with the connection completes",
            resource: Resource(content, entityTag: tag),
            outcome: .file(content)
        ).on {
            $0.framing = .closeDelimited; $0.ranges = .ignored
        },
        Scenario(
            rules: [1, 2, 4, 19, 29], name: "a truncated body is resumed", resource: interrupted(.plain),
            outcome: .file(content), offsets: [0, cut], resumptions: [cut]),
        Scenario(
            rules: [33], name: "ranges are used without Accept-Ranges", resource: interrupted(.plain),
            outcome: .file(content), offsets: [0, cut], resumptions: [cut]
        ).on { $0.ranges = .unannounced },
        Scenario(
            rules: [19], name: "a partial response shorter than requested is followed by the rest",
            resource: interrupted([.shortRange(50_000)]),
            outcome: .file(content), offsets: [0, cut, cut + 50_000], resumptions: nil),
        Scenario(
            rules: [3], name: "a strong date is the validator without an entity tag", resource: interrupted(.plain),
            outcome: .file(content), offsets: [0, cut], resumptions: [cut]
        ).on {
            $0.entityTag = nil
            $0.lastModified = "Fri, 16 Apr 2010 17:23:13 GMT"
        },
        Scenario(
            rules: [2, 5], name: "a weak entity tag proves nothing, so the file restarts",
            resource: interrupted(.plain),
            outcome: .file(content), offsets: [0, 0], restarts: [.noValidator]
        ).on { $0.entityTag = "W/\"v1\"" },
        Scenario(
            rules: [5], name: "a file without a validator restarts", resource: interrupted(.plain),
            outcome: .file(content), offsets: [0, 0], restarts: [.noValidator]
        ).on { $0.entityTag = nil },
        Scenario(
            rules: [2, 4], name: "an entity tag without quotation marks cannot be sent back, so the file restarts",
            resource: interrupted(.plain), outcome: .file(content), offsets: [0, 0], restarts: [.noValidator]
        ).on { $0.entityTag = "v1" },
        Scenario(
            rules: [4], name: "an entity tag with unusual characters is sent back byte for byte",
            resource: interrupted(.plain), outcome: .file(content), offsets: [0, cut], resumptions: [cut]
        ).on { $0.entityTag = "\"!#$%&'()*+-./:;<=>?@[\\]^_`{|}~\"" },
        Scenario(
            rules: [4], name: "an empty entity tag is a validator",
            resource: interrupted(.plain), outcome: .file(content),
            offsets: [0, cut], resumptions: [cut]
        ).on { $0.entityTag = "\"\"" },
        Scenario(
            rules: [3], name: "an entity tag takes precedence over a date", resource: interrupted(.plain),
            outcome: .file(content), offsets: [0, cut], resumptions: [cut]
        ).on { $0.lastModified = "Fri, 16 Apr 2010 17:23:13 GMT" },
        Scenario(
            rules: [3], name: "a modification date in the second of the response is weak",
            resource: interrupted(.plain),
            outcome: .file(content), offsets: [0, 0], restarts: [.noValidator]
        ).on {
            $0.entityTag = nil
            $0.lastModified = "Fri, 16 Apr 2010 17:23:13 GMT"
            $0.date = "Fri, 16 Apr 2010 17:23:13 GMT"
        },
    ]
}
