import AsyncDownloads
import LoopbackServer

extension Scenario {
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
        Scenario(
            rules: [29], name: "a part in chunks", resource: interrupted(.plain), outcome: .file(content),
            offsets: [0, cut], resumptions: [cut]
        ).on { $0.framing = .chunked },
        Scenario(
            rules: [29], name: "a part in chunks with a trailer section",
            resource: interrupted([.trailers(["Expires: 0", "X-Checksum: 1"])]), outcome: .file(content),
            offsets: [0, cut], resumptions: [cut]
        ).exceptOnLinuxURLSession("URLSession of Swift 6.3 ends the process there"),
        Scenario(
            rules: [29], name: "a part in chunks whose end is missing is not complete",
            resource: interrupted([.chunkedWithoutEnd, .cut(after: 50_000)]), outcome: .file(content),
            offsets: [0, cut, cut + 50_000], resumptions: nil),
        Scenario(
            rules: [29], name: "a part that ends with the connection",
            resource: interrupted([.removeHeader("Content-Length")]), outcome: .file(content), offsets: [0, cut],
            resumptions: [cut]),
        Scenario(
            rules: [29, 20], name: "a part that ends with the connection, too early",
            resource: interrupted([.removeHeader("Content-Length"), .cut(after: 50_000)]), outcome: .file(content),
            offsets: [0, cut, cut + 50_000], resumptions: [cut, cut + 50_000]),
        Scenario(
            rules: [30], name: "bytes behind the promised length are no part of the body",
            resource: scripted([[.extraBytes(10)]]), outcome: .file(content)),
        Scenario(
            rules: [30], name: "a part in chunks that goes beyond its range: nothing of it counts",
            resource: interrupted(tooLong), outcome: .file(content), offsets: [0, cut, cut],
            restarts: [.excessBytes], resumptions: [cut, cut]),
        Scenario(
            rules: [30], name: "a part that goes beyond its range and ends with the connection",
            resource: interrupted([.removeHeader("Content-Length"), .extraBytes(10)]), outcome: .file(content),
            offsets: [0, cut, cut], restarts: [.excessBytes], resumptions: [cut, cut]),
        Scenario(
            rules: [30], name: "parts that go beyond their range time and again: from the beginning, as a whole",
            resource: interrupted(tooLong, then: tooLong), outcome: .file(content),
            restarts: [.excessBytes, .excessBytes, .invalidPartialResponse], resumptions: [cut, cut]),
        Scenario(
            rules: [6], name: "a server that codes what it is asked to is asked not to",
            resource: Resource(content, entityTag: tag), outcome: .file(content), offsets: [0]
        ).on { $0.coding = .init("gzip", body: .bytes(GzipSample.coded)) },
        Scenario(
            rules: [28, 6], name: "a body that is coded although the identity was asked for is taken whole",
            resource: Resource(GzipSample.content, entityTag: tag),
            outcome: .coded(GzipSample.coded, of: GzipSample.content)
        ).on { $0.coding = .init("gzip", body: .bytes(GzipSample.coded), onlyIfAccepted: false) },
        Scenario(
            rules: [28], name: "a coded body that is cut begins again",
            resource: Resource(GzipSample.content, entityTag: tag, script: [[.cut(after: 500)]]),
            outcome: .coded(GzipSample.coded, of: GzipSample.content), restarts: nil
        ).on { $0.coding = .init("gzip", body: .bytes(GzipSample.coded), onlyIfAccepted: false) },
    ]

    /// A part in chunks, with ten bytes more than its Content-Range says.
    private static let tooLong: Step = [
        .removeHeader("Content-Length"), .header("Transfer-Encoding", "chunked"), .header("Connection", "close"),
        .extraBytes(10),
    ]
}
