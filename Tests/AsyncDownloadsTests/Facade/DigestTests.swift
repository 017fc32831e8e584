import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Digests of the whole file, from the caller or the server, that are computed while bytes are received (rule 48).
@Suite(.endsWhenHung)
struct DigestTests {
    private static let content = Content(seed: 41, length: 300_000)
    private static let wrong = Checksum.sha256(String(repeating: "0", count: 64))
    private static let wrongDigest = "sha-256=:\(Data(count: 32).base64EncodedString()):"

    @Test(arguments: Engine.allCases, [content.sha256, content.sha512])
    func `rule 48: the digest covers the bytes of earlier runs`(
        _ engine: Engine, _ checksum: Checksum
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: 100_000)]]), at: "/one")
            var request = environment.request("/one")
            request.checksum = checksum
            try await environment.leave(request, at: 100_000)
            let log = await EventLog(of: environment.downloader.start(request))
            #expect(log.resumptions == [100_000])
            #expect(log.file != nil, "\(String(describing: log.error))")
            #expect(try environment.holds(Self.content))
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 48: bytes of an earlier run that were changed on disk are detected`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: 100_000)]]), at: "/one")
            var request = environment.request("/one")
            request.checksum = Self.content.sha256
            try await environment.leave(request, at: 100_000)
            let name = try #require(try environment.leftovers.first { $0.hasSuffix(".partial") })
            let handle = try FileHandle(forUpdating: environment.directory.appending(path: name))
            try handle.write(contentsOf: Data("changed".utf8))
            try handle.close()
            let log = await EventLog(of: environment.downloader.start(request))
            #expect(log.resumptions == [100_000])
            #expect(log.error?.code == .checksumMismatch)
            #expect(try environment.leftovers == [], "wrong bytes are not kept")
        }
    }

    @Test(arguments: Engine.allCases)
    func `the server's digest is requested and checked`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            var resource = Resource(Self.content, entityTag: "\"a\"")
            resource.headers = ["Repr-Digest": Self.content.reprDigest]
            environment.server.serve(resource, at: "/right")
            resource.headers = ["Repr-Digest": Self.wrongDigest]
            environment.server.serve(resource, at: "/wrong")
            _ = try await environment.downloader.download(environment.request("/right"))
            #expect(try environment.holds(Self.content))
            #expect(environment.server.requests(at: "/right").map { $0["Want-Repr-Digest"] } == [ReprDigest.preference])
            let error = await #expect(throws: DownloadError.self) {
                try await environment.downloader.download(environment.request("/wrong", to: "other.bin"))
            }
            #expect(error?.code == .checksumMismatch)
            #expect(error?.retainedByteCount == 0)
            #expect(try environment.leftovers == ["file.bin"])
        }
    }

    @Test func `an expected checksum takes precedence over the server's digest`() async throws {
        try await TestEnvironment.with { environment async throws in
            var resource = Resource(Self.content, entityTag: "\"a\"", script: [[.holdHead]])
            resource.headers = ["Repr-Digest": Self.wrongDigest]
            environment.server.serve(resource, at: "/one")
            var requests = ["right", "trusting", "wrong"].map { environment.request("/one", to: $0) }
            requests[0].checksum = Self.content.sha512
            requests[2].checksum = Self.wrong
            requests[0].headers["Want-Repr-Digest"] = "sha-512=1"
            requests[1].headers = requests[0].headers
            requests[2].headers = requests[0].headers
            let downloads = requests.map(environment.downloader.start)
            _ = await environment.server.requests(at: "/one", reaching: 1)
            environment.server.release("/one")
            var codes: [DownloadError.Code?] = []
            for download in downloads { codes.append(await EventLog(of: download).error?.code) }
            #expect(codes == [nil, .checksumMismatch, .checksumMismatch])
            #expect(environment.server.requests(at: "/one").map { $0["Want-Repr-Digest"] } == ["sha-512=1"])
            #expect(try environment.leftovers == ["right"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `another digest in a partial response indicates another representation`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            var resource = Resource(Self.content, entityTag: "\"a\"")
            resource.headers = ["Repr-Digest": Self.content.reprDigest]
            resource.script = [[.cut(after: 100_000)], [.header("Repr-Digest", Self.wrongDigest)]]
            environment.server.serve(resource, at: "/one")
            let log = await EventLog(of: environment.downloader.start(environment.request("/one")))
            #expect(log.restarts == [.contentChanged])
            #expect(try environment.holds(Self.content))
        }
    }

    @Test func `a digest of coded bytes is not compared with decoded bytes`() async throws {
        try await TestEnvironment.with(.urlSession) { environment async throws in
            var resource = Resource(Self.content)
            resource.headers = ["Repr-Digest": Self.wrongDigest]
            resource.coding = .init("identity", onlyIfAccepted: false)
            environment.server.serve(resource, at: "/identity")
            let error = await #expect(throws: DownloadError.self) {
                try await environment.downloader.download(environment.request("/identity"))
            }
            #expect(error?.code == .checksumMismatch)
            let text = Array("the same text, the same text, the same text\n".utf8)
            resource.body = .bytes(text)
            resource.coding = .init("gzip", body: .bytes(Self.gzipped(text)), onlyIfAccepted: false)
            environment.server.serve(resource, at: "/coded")
            _ = try await environment.downloader.download(environment.request("/coded"))
            #expect(try Data(contentsOf: environment.directory.appending(path: "file.bin")) == Data(text))
        }
    }

    @Test(arguments: Engine.allCases)
    func `the digest is computed while bytes are being received`(_ engine: Engine) async throws {
        let long = Content(seed: 42, length: 6 << 20)
        let stall: Int64 = 4 << 20
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(Resource(long, entityTag: "\"a\"", script: [[.stall(after: stall)]]), at: "/one")
            var request = environment.request("/one")
            request.checksum = long.sha256
            let download = environment.downloader.start(request)
            // A turn needs at least one MiB, so up to one MiB of the received bytes is not yet digested.
            while download.digestedByteCount <= stall - (1 << 20) { await Task.yield() }
            #expect(download.state == .downloading)
            environment.server.release("/one")
            #expect(try await download.file.byteCount == long.length)
        }
    }

    /// Returns one gzip member with one stored block (RFC 1951, 3.2.4; RFC 1952).
    private static func gzipped(_ bytes: [UInt8]) -> [UInt8] {
        func littleEndian(_ number: UInt32, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * UInt32($0))) }
        }
        let length = UInt32(bytes.count)
        let check = UInt32(CRC32.digits(of: bytes), radix: 16) ?? 0
        return [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF, 1] + littleEndian(length, 2) + littleEndian(~length, 2) + bytes
            + littleEndian(check, 4) + littleEndian(length, 4)
    }
}
