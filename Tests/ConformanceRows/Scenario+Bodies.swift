internal import AsyncDownloads
internal import LoopbackServer

extension Scenario {
    /// Bodies that are truncated, coded, or too long.
    package static let bodies: [Scenario] = [
        Scenario(
            rules: [29], name: "a download resumes after a connection reset",
            resource: Resource(content, entityTag: tag, script: [[.cut(after: cut, .reset)]]),
            outcome: .file(content), resumptions: nil),
        Scenario(
            rules: [29], name: "a chunked body without its last chunk is incomplete",
            resource: Resource(content, entityTag: tag, script: [[.ignoreRange, .chunkedWithoutEnd]]),
            outcome: .file(content)),
        Scenario(
            rules: [29], name: "a connection that is closed before the head is retried",
            resource: Resource(content, entityTag: tag, script: [[.closeBeforeHead()]]), outcome: .file(content)),
        Scenario(
            rules: [29], name: "a connection that is closed inside the head is retried",
            resource: Resource(content, entityTag: tag, script: [[.closeInsideHead(afterBytes: 20)]]),
            outcome: .file(content),
            impossible: [.urlSession: "URLSession in Swift 6.3 on Linux ends the process (fixed in 6.4)."]),
        Scenario(
            rules: [36], name: "a download fails after its retries if the server truncates every body",
            resource: Resource(content, script: [[.cut(after: 1000)]]),
            outcome: .failure(.connectionLost, kept: 0...1000),
            restarts: nil
        ).on { $0.repeatsLastStep = true },
        Scenario(
            rules: [29], name: "a chunked part is appended", resource: interrupted(.plain), outcome: .file(content),
            offsets: [0, cut], resumptions: [cut]
        ).on { $0.framing = .chunked },
        Scenario(
            rules: [29], name: "a chunked part with a trailer section is appended",
            resource: interrupted([.trailers(["Expires: 0", "X-Checksum: 1"])]), outcome: .file(content),
            offsets: [0, cut], resumptions: [cut]
        ).exceptOnLinuxURLSession("URLSession in Swift 6.3 ends the process."),
        Scenario(
            rules: [29], name: "a chunked part without its last chunk is incomplete",
            resource: interrupted([.chunkedWithoutEnd, .cut(after: 50_000)]), outcome: .file(content),
            offsets: [0, cut, cut + 50_000], resumptions: nil),
        Scenario(
            rules: [29], name: "a part that ends with the connection is appended",
            resource: interrupted([.removeHeader("Content-Length")]), outcome: .file(content), offsets: [0, cut],
            resumptions: [cut]),
        Scenario(
            rules: [29, 20], name: "a part that ends too early with the connection is incomplete",
            resource: interrupted([.removeHeader("Content-Length"), .cut(after: 50_000)]), outcome: .file(content),
            offsets: [0, cut, cut + 50_000], resumptions: [cut, cut + 50_000]),
        Scenario(
            rules: [30], name: "bytes after the declared length are not part of the body",
            resource: scripted([[.extraBytes(10)]]), outcome: .file(content)),
        Scenario(
            rules: [30], name: "a chunked part that extends beyond its range is discarded",
            resource: interrupted(tooLong), outcome: .file(content), offsets: [0, cut, cut],
            restarts: [.excessBytes], resumptions: [cut, cut]),
        Scenario(
            rules: [30], name: "a part that extends beyond its range and ends with the connection is discarded",
            resource: interrupted([.removeHeader("Content-Length"), .extraBytes(10)]), outcome: .file(content),
            offsets: [0, cut, cut], restarts: [.excessBytes], resumptions: [cut, cut]),
        Scenario(
            rules: [30], name: "repeated parts that extend beyond their range restart the file without a range",
            resource: interrupted(tooLong, then: tooLong), outcome: .file(content),
            restarts: [.excessBytes, .excessBytes, .invalidPartialResponse], resumptions: [cut, cut]),
        Scenario(
            rules: [6], name: "a server that supports a coding is asked for the identity",
            resource: Resource(content, entityTag: tag), outcome: .file(content), offsets: [0]
        ).on { $0.coding = .init("gzip", body: .bytes(GzipSample.coded)) },
        Scenario(
            rules: [28, 6], name: "a body that is coded despite the requested identity is stored whole",
            resource: Resource(GzipSample.content, entityTag: tag),
            outcome: .coded(GzipSample.coded, of: GzipSample.content)
        ).on { $0.coding = .init("gzip", body: .bytes(GzipSample.coded), onlyIfAccepted: false) },
        Scenario(
            rules: [28], name: "a truncated coded body restarts",
            resource: Resource(GzipSample.content, entityTag: tag, script: [[.cut(after: 500)]]),
            outcome: .coded(GzipSample.coded, of: GzipSample.content), restarts: nil
        ).on { $0.coding = .init("gzip", body: .bytes(GzipSample.coded), onlyIfAccepted: false) },
    ]

    /// A chunked part with ten bytes more than its Content-Range declares.
    private static let tooLong: Step = [
        .removeHeader("Content-Length"), .header("Transfer-Encoding", "chunked"), .header("Connection", "close"),
        .extraBytes(10),
    ]
}
