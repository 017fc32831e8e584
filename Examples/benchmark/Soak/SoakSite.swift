internal import Foundation
internal import LoopbackServer

/// The server's resources, a few dozen small ones with scripted faults, and the directory for the downloaded files.
struct SoakSite: Sendable {
    let server: LoopbackServer
    let directory: URL

    static let resourceCount = 48

    private static let lengths: [Int64] = [0, 1, 1000, 4096, 40_000, 120_000, 300_000]

    /// Replaces all resources, so that the scripts of faults restart.
    func serve() {
        for index in 0..<Self.resourceCount {
            server.serve(Self.resource(index), at: "\(index)")
            server.serve(Resource("", redirectingTo: "/\(index)"), at: "moved/\(index)")
        }
    }

    /// Releases the stalled responses.
    func release() {
        for index in 0..<Self.resourceCount { server.release("\(index)") }
    }

    /// Returns the URL of a resource; every eighth URL redirects to the resource.
    func url(_ index: Int, variant: Int) -> URL {
        server.url("\(index % 8 == 3 ? "moved/" : "")\(index)?\(variant)")
    }

    /// Returns whether the file contains one of the versions of the resource.
    func holds(_ index: Int, at file: URL) -> Bool {
        // The limit exceeds the longest resource by one byte, so that a file that is too long is recognized.
        let limit = Int(Self.lengths.max() ?? 0) + 1
        guard let bytes = [UInt8](file: file.path, limit: limit) else { return false }
        return Self.versions(index).contains { version in
            Int64(bytes.count) == version.length && bytes.withUnsafeBytes { version.matches($0, at: 0) }
        }
    }

    /// Returns whether a download of the resource may fail because it had to restart too often.
    static func mayChange(_ index: Int) -> Bool { [5, 6, 8].contains(index % 12) }

    /// Returns the index of the resource that a file with this name must contain.
    static func index(ofFile name: String) -> Int? {
        name.split(separator: "-").first.flatMap { Int($0) }
    }

    private static func content(_ index: Int, version: Int) -> Content {
        Content(seed: UInt64(2 * index + version), length: lengths[(index + version) % lengths.count])
    }

    private static func versions(_ index: Int) -> [Content] {
        [content(index, version: 0), content(index, version: 1)]
    }

    private static func resource(_ index: Int) -> Resource {
        let content = content(index, version: 0)
        var resource = Resource(content, entityTag: "\"\(index)\"")
        let half = content.length / 2
        switch index % 12 {
        case 1: resource.script = [[.cut(after: half)], [], [.closeBeforeHead()], []]
        case 2: resource.script = [[.cut(after: half, .reset)], [.cut(after: 1, .reset)], []]
        case 3: resource.script = [[.status(503)], [.retryAfter("0")], []]
        case 4: resource.script = [[.stall(after: half)], [.holdHead], []]
        case 5:
            resource.ranges = .refused
            resource.script = [[.cut(after: half)], []]
        case 6: resource.script = [[.cut(after: half)], [.contentRange("bytes 7-8/9")], [.contentRange(nil)], []]
        case 7: resource.script = [[.cut(after: half)], [.rangeShift(-100)], [.cut(after: half)], [.ignoreRange]]
        case 8:
            let next = self.content(index, version: 1)
            resource.script = [[.cut(after: half)], [.replaceContent(next, entityTag: "\"\(index)-next\"")]]
        case 9:
            resource.framing = .chunked
            resource.script = [[.cut(after: half)], [.chunkedWithoutEnd], []]
        case 10:
            resource.entityTag = nil
            resource.script = [[.cut(after: half)], []]
        case 11:
            resource.framing = .closeDelimited
            resource.script = [[.throttle(bytesPerSecond: 1 << 20)], []]
        default: break
        }
        return resource
    }
}

extension Resource {
    fileprivate init(_ body: Body, redirectingTo location: String) {
        self.init(body)
        script = [[.redirect(location: location)]]
        repeatsLastStep = true
    }
}
