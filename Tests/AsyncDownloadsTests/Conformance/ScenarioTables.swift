import AsyncDownloads
import LoopbackServer

extension Scenario {
    /// Servers that behave, or stop half-way.
    static let plain: [Scenario] = [
        Scenario(
            rules: [29], name: "a body of known length", resource: Resource(content, entityTag: tag),
            outcome: .file(content), offsets: [0]),
        Scenario(
            rules: [47], name: "an empty file", resource: Resource(Content(seed: 1, length: 0), entityTag: tag),
            outcome: .file(Content(seed: 1, length: 0))),
        Scenario(
            rules: [47], name: "a chunked body of unknown length", resource: Resource(content, entityTag: tag),
            outcome: .file(content)
        ).on {
            $0.framing = .chunked; $0.ranges = .ignored
        },
        Scenario(
            rules: [47], name: "a body that ends with the connection", resource: Resource(content, entityTag: tag),
            outcome: .file(content)
        ).on {
            $0.framing = .closeDelimited; $0.ranges = .ignored
        },
        Scenario(
            rules: [1, 2, 4, 19, 29], name: "a cut body is continued", resource: interrupted(.plain),
            outcome: .file(content), offsets: [0, cut], resumptions: [cut]),
        Scenario(
            rules: [33], name: "ranges work without being announced", resource: interrupted(.plain),
            outcome: .file(content), offsets: [0, cut], resumptions: [cut]
        ).on { $0.ranges = .unannounced },
        Scenario(
            rules: [19], name: "a partial response shorter than asked, and the rest",
            resource: interrupted([.shortRange(50_000)]),
            outcome: .file(content), offsets: [0, cut, cut + 50_000], resumptions: nil),
        Scenario(
            rules: [36], name: "503, then the file",
            resource: Resource(content, entityTag: tag, script: [[.status(503)]]), outcome: .file(content),
            offsets: [0, 0]),
        Scenario(
            rules: [36], name: "404 is final", resource: Resource(content, entityTag: tag, script: [[.status(404)]]),
            outcome: .failure(.httpStatus), offsets: [0]),
        Scenario(
            rules: [31], name: "an error page never reaches the file, nor costs its bytes",
            resource: interrupted([.status(403, body: "no")]), outcome: .failure(.httpStatus, kept: cut...cut),
            offsets: [0, cut]),
        Scenario(
            rules: [32], name: "204 is no file", resource: Resource(content, entityTag: tag, script: [[.status(204)]]),
            outcome: .failure(.httpStatus), offsets: [0]),
        Scenario(
            rules: [3], name: "a strong date serves where there is no entity tag", resource: interrupted(.plain),
            outcome: .file(content), offsets: [0, cut], resumptions: [cut]
        ).on {
            $0.entityTag = nil
            $0.lastModified = "Fri, 16 Apr 2010 17:23:13 GMT"
        },
        Scenario(
            rules: [2, 5], name: "a weak entity tag proves nothing: from the beginning", resource: interrupted(.plain),
            outcome: .file(content), offsets: [0, 0], restarts: [.noValidator]
        ).on { $0.entityTag = "W/\"v1\"" },
        Scenario(
            rules: [5], name: "no validator: from the beginning", resource: interrupted(.plain),
            outcome: .file(content), offsets: [0, 0], restarts: [.noValidator]
        ).on { $0.entityTag = nil },
        Scenario(
            rules: [3], name: "a date of this very second is weak", resource: interrupted(.plain),
            outcome: .file(content), offsets: [0, 0], restarts: [.noValidator]
        ).on {
            $0.entityTag = nil
            $0.lastModified = "Fri, 16 Apr 2010 17:23:13 GMT"
            $0.date = "Fri, 16 Apr 2010 17:23:13 GMT"
        },
    ]

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
            rules: [27], name: "412, once", resource: interrupted([.status(412)]), outcome: .file(content),
            restarts: [.contentChanged]),
        Scenario(
            rules: [31], name: "a captive portal's page never reaches the file, nor costs its bytes",
            resource: interrupted([.status(200, headers: ["Content-Type": "text/html"], body: "<html>pay</html>")]),
            outcome: .file(content), resumptions: [cut]),
    ]

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
        Scenario(
            rules: [15], name: "an earlier start: what is there already is passed over",
            resource: interrupted([.rangeShift(-10)]), outcome: .file(content), offsets: [0, cut], resumptions: [cut]),
    ]

    private static func lie(_ rules: [Int], _ name: String, _ fault: Fault) -> Scenario {
        Scenario(
            rules: rules, name: "\(name): refused, and asked again", resource: interrupted([fault]),
            outcome: .file(content), offsets: [0, cut, cut], resumptions: [cut])
    }

    /// Bodies that are cut, torn or too long.
    static let bodies: [Scenario] = [
        Scenario(
            rules: [29], name: "a connection that is reset",
            resource: Resource(content, entityTag: tag, script: [[.cut(after: cut, .reset)]]),
            outcome: .file(content), resumptions: nil),
        Scenario(
            rules: [29], name: "a chunked body without its end is not complete",
            resource: Resource(content, entityTag: tag, script: [[.ignoreRange, .chunkedWithoutEnd]]),
            outcome: .file(content)),
        Scenario(
            rules: [29], name: "a server that closes before the head",
            resource: Resource(content, entityTag: tag, script: [[.closeBeforeHead()]]), outcome: .file(content)),
        Scenario(
            rules: [29], name: "a server that closes inside the head",
            resource: Resource(content, entityTag: tag, script: [[.closeInsideHead(afterBytes: 20)]]),
            outcome: .file(content),
            impossible: [.urlSession: "URLSession of Swift 6.3 on Linux ends the process there (fixed in 6.4)"]),
        Scenario(
            rules: [36], name: "a server that cuts every body at once gives up after the retries",
            resource: Resource(content, script: [[.cut(after: 1000)]]),
            outcome: .failure(.connectionLost, kept: 0...1000),
            restarts: nil
        ).on { $0.repeatsLastStep = true },
    ]
}
