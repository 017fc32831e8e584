import AsyncDownloads
import LoopbackServer

extension Scenario {
    /// Objects that change, and servers that ignore what they are asked.
    static let changes: [Scenario] = [
        Scenario(
            rules: [22, 8, 27, 52], name: "the object has changed",
            resource: interrupted([.replaceContent(changed, entityTag: "\"v2\"")]), outcome: .file(changed),
            restarts: [.contentChanged]),
        Scenario(
            rules: [34], name: "an If-Range that is understood for dates only: the range is asked for without it",
            resource: interrupted(.plain), outcome: .file(content), resumptions: [cut], unconditionalCount: 1
        ).on { $0.ifRange = .datesOnly },
        Scenario(
            rules: [34], name: "an If-Range that never holds", resource: interrupted(.plain), outcome: .file(content),
            resumptions: [cut], unconditionalCount: 1
        ).on { $0.ifRange = .neverMatching },
        Scenario(
            rules: [34], name: "an If-Range that never holds, after many interruptions: no byte is given up",
            resource: Resource(
                content, entityTag: tag,
                script: [[.cut(after: cut)], .plain, [.cut(after: cut)], [.cut(after: 50_000)], .plain]),
            outcome: .file(content), resumptions: nil, unconditionalCount: 3
        ).on { $0.ifRange = .neverMatching },
        Scenario(
            rules: [34, 22], name: "ranges are ignored although the object is the same: its body is used, once",
            resource: interrupted(.plain), outcome: .file(content), restarts: [.rangeIgnored], unconditionalCount: 1
        ).on { $0.ranges = .ignored },
        Scenario(
            rules: [33, 34], name: "ranges are announced and ignored", resource: interrupted(.plain),
            outcome: .file(content), restarts: [.rangeIgnored], unconditionalCount: 1
        ).on { $0.ranges = .announcedOnly },
        Scenario(
            rules: [34, 21], name: "no condition and no entity tag in the answer: nothing proves the part",
            resource: interrupted([.ignoreRange], then: [.entityTag(nil)]), outcome: .file(content), restarts: nil,
            resumptions: nil, unconditionalCount: 1),
        Scenario(
            rules: [18], name: "another complete length",
            resource: interrupted([.contentRange("bytes 100000-299999/300001")]), outcome: .file(content),
            restarts: [.contentChanged]),
        Scenario(
            rules: [21], name: "another entity tag in the partial response",
            resource: interrupted([.entityTag("\"v2\"")]),
            outcome: .file(content), restarts: [.contentChanged]),
        Scenario(
            rules: [21], name: "no entity tag in the partial response to a conditional request",
            resource: interrupted([.entityTag(nil)]), outcome: .file(content), offsets: [0, cut], resumptions: [cut]),
        Scenario(
            rules: [26], name: "416 that names another length",
            resource: interrupted([.status(416, headers: ["Content-Range": "bytes */7"])]),
            outcome: .file(content), restarts: [.contentChanged]),
        Scenario(
            rules: [26], name: "416 that names no length", resource: interrupted([.status(416)]),
            outcome: .file(content), restarts: [.rangeNotSatisfiable]),
        Scenario(
            rules: [26], name: "416 that names the bytes at hand as the whole of a longer file",
            resource: interrupted([.status(416, headers: ["Content-Range": "bytes */100000", "ETag": tag])]),
            outcome: .file(content), restarts: [.contentChanged]),
        Scenario(
            // In windows the first request has a range already, and there is nothing yet to give up.
            rules: [26, 33], name: "416 to every range: from the beginning, as a whole", resource: interrupted(.plain),
            outcome: .file(content), restarts: nil
        ).on { $0.ranges = .refused },
        Scenario(
            rules: [26], name: "416 of another object of the length at hand",
            resource: interrupted([.status(416, headers: ["Content-Range": "bytes */100000", "ETag": "\"v2\""])]),
            outcome: .file(content), restarts: [.contentChanged]),
        Scenario(
            rules: [26, 12], name: "everything is there, and only the end was lost: nothing is fetched again",
            resource: scripted([[.cut(after: length)]]), outcome: .file(content), resumptions: nil
        ).on { $0.framing = .chunked },
        Scenario(
            rules: [21], name: "a weak entity tag in the partial response",
            resource: interrupted([.entityTag("W/\"v1\"")]), outcome: .file(content), restarts: [.contentChanged]),
        Scenario(
            rules: [21], name: "another entity tag in answer to a condition that is ignored",
            resource: interrupted([.replaceContent(Content(seed: 2, length: length), entityTag: "\"v2\"")]),
            outcome: .file(Content(seed: 2, length: length)), restarts: [.contentChanged]
        ).on {
            $0.ifRange = .ignored
            $0.honoursIfMatch = false
        },
        Scenario(
            rules: [21], name: "another date in answer to a condition that is ignored",
            resource: interrupted([
                .replaceContent(
                    Content(seed: 2, length: length), lastModified: "Sat, 17 Apr 2010 17:23:13 GMT")
            ]), outcome: .file(Content(seed: 2, length: length)), restarts: [.contentChanged]
        ).on {
            $0.entityTag = nil
            $0.lastModified = "Fri, 16 Apr 2010 17:23:13 GMT"
            $0.ifRange = .ignored
            $0.honoursIfUnmodifiedSince = false
        },
        Scenario(
            rules: [27], name: "412, once", resource: interrupted([.status(412)]), outcome: .file(content),
            restarts: [.contentChanged]),
    ]
}
