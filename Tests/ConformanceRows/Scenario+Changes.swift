internal import AsyncDownloads
internal import LoopbackServer

extension Scenario {
    /// Objects that change, and servers that ignore ranges or conditions.
    package static let changes: [Scenario] = [
        Scenario(
            rules: [22, 8, 27, 52], name: "an object that has changed restarts",
            resource: interrupted([.replaceContent(changed, entityTag: "\"v2\"")]), outcome: .file(changed),
            restarts: [.contentChanged]),
        Scenario(
            rules: [34], name: "a range is requested without If-Range if the server supports only dates in it",
            resource: interrupted(.plain), outcome: .file(content), resumptions: [cut], unconditionalCount: 1
        ).on { $0.ifRange = .datesOnly },
        Scenario(
            rules: [34], name: "a range is requested without If-Range if the server never accepts it",
            resource: interrupted(.plain), outcome: .file(content), resumptions: [cut], unconditionalCount: 1
        ).on { $0.ifRange = .neverMatching },
        Scenario(
            rules: [34], name: "an If-Range that is never accepted discards no byte after many interruptions",
            resource: Resource(
                content, entityTag: tag,
                script: [[.cut(after: cut)], .plain, [.cut(after: cut)], [.cut(after: 50_000)], .plain]),
            outcome: .file(content), resumptions: nil, unconditionalCount: 3
        ).on { $0.ifRange = .neverMatching },
        Scenario(
            rules: [34, 22], name: "a whole body is used if ranges are ignored and the object is the same",
            resource: interrupted(.plain), outcome: .file(content), restarts: [.rangeIgnored], unconditionalCount: 1
        ).on { $0.ranges = .ignored },
        Scenario(
            rules: [33, 34], name: "a whole body is used if ranges are announced but ignored",
            resource: interrupted(.plain),
            outcome: .file(content), restarts: [.rangeIgnored], unconditionalCount: 1
        ).on { $0.ranges = .announcedOnly },
        Scenario(
            rules: [34, 21], name: "a part without an entity tag and without a condition proves nothing",
            resource: interrupted([.ignoreRange], then: [.entityTag(nil)]), outcome: .file(content), restarts: nil,
            resumptions: nil, unconditionalCount: 1),
        Scenario(
            rules: [18], name: "another complete length means another object",
            resource: interrupted([.contentRange("bytes 100000-299999/300001")]), outcome: .file(content),
            restarts: [.contentChanged]),
        Scenario(
            rules: [21], name: "another entity tag in the partial response means another object",
            resource: interrupted([.entityTag("\"v2\"")]),
            outcome: .file(content), restarts: [.contentChanged]),
        Scenario(
            rules: [21], name: "the condition proves a partial response without an entity tag",
            resource: interrupted([.entityTag(nil)]), outcome: .file(content), offsets: [0, cut], resumptions: [cut]),
        Scenario(
            rules: [26], name: "416 with another length means another object",
            resource: interrupted([.status(416, headers: ["Content-Range": "bytes */7"])]),
            outcome: .file(content), restarts: [.contentChanged]),
        Scenario(
            rules: [26], name: "416 without a length restarts the file", resource: interrupted([.status(416)]),
            outcome: .file(content), restarts: [.rangeNotSatisfiable]),
        Scenario(
            rules: [26], name: "416 with the received length does not complete a longer file",
            resource: interrupted([.status(416, headers: ["Content-Range": "bytes */100000", "ETag": tag])]),
            outcome: .file(content), restarts: [.contentChanged]),
        Scenario(
            // An engine that fetches segments receives 416 for its first request, when no bytes exist to discard.
            rules: [26, 33], name: "416 to every range restarts the file without a range",
            resource: interrupted(.plain),
            outcome: .file(content), restarts: nil
        ).on { $0.ranges = .refused },
        Scenario(
            rules: [26], name: "416 with the received length and another entity tag means another object",
            resource: interrupted([.status(416, headers: ["Content-Range": "bytes */100000", "ETag": "\"v2\""])]),
            outcome: .file(content), restarts: [.contentChanged]),
        Scenario(
            rules: [26, 12], name: "no byte is fetched again if only the end of a chunked body was lost",
            resource: scripted([[.cut(after: length)]]), outcome: .file(content), resumptions: nil
        ).on { $0.framing = .chunked },
        Scenario(
            rules: [21], name: "a weak entity tag in the partial response restarts the file",
            resource: interrupted([.entityTag("W/\"v1\"")]), outcome: .file(content), restarts: [.contentChanged]),
        Scenario(
            rules: [21], name: "another entity tag is detected if the condition is ignored",
            resource: interrupted([.replaceContent(Content(seed: 2, length: length), entityTag: "\"v2\"")]),
            outcome: .file(Content(seed: 2, length: length)), restarts: [.contentChanged]
        ).on {
            $0.ifRange = .ignored
            $0.honorsIfMatch = false
        },
        Scenario(
            rules: [21], name: "another modification date is detected if the condition is ignored",
            resource: interrupted([
                .replaceContent(
                    Content(seed: 2, length: length), lastModified: "Sat, 17 Apr 2010 17:23:13 GMT")
            ]), outcome: .file(Content(seed: 2, length: length)), restarts: [.contentChanged]
        ).on {
            $0.entityTag = nil
            $0.lastModified = "Fri, 16 Apr 2010 17:23:13 GMT"
            $0.ifRange = .ignored
            $0.honorsIfUnmodifiedSince = false
        },
        Scenario(
            rules: [27], name: "412 restarts the file", resource: interrupted([.status(412)]), outcome: .file(content),
            restarts: [.contentChanged]),
    ]
}
