import AsyncDownloads
import Foundation
import LoopbackServer
import TestSupport
import Testing

/// Validation of requests before anything is sent, and safe choices of file names.
@Suite(.endsWhenHung)
struct RequestTests {
    private let content = Content(seed: 8, length: 50_000)
    private static let home = URL(fileURLWithPath: "/tmp/x")

    static let unusable: [DownloadRequest] = [
        "ftp://host/file", "file:///etc/passwd", "http:///file", "http://a%3Ab:secret@host/file", "data:,x",
    ].compactMap(URL.init(string:)).map { DownloadRequest(from: $0, to: home) }

    @Test(arguments: unusable)
    func `unusable URLs are refused without being disclosed`(_ request: DownloadRequest) async throws {
        let downloader = Downloader()
        let error = await #expect(throws: DownloadError.self) { try await downloader.download(request) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.description.contains("secret") == false)
        #expect(downloader.start(request).state == .failed)
        await downloader.shutdown()
    }

    @Test(arguments: [
        ("Range", "bytes=0-1"), ("accept-encoding", "gzip"), ("If-Range", "x"), ("Host", "other"),
        ("X", "a\r\nInjected: b"), ("X", "a\nb"), ("X", "a\0b"), ("Bad Name", "x"), ("", "x"),
    ])
    func `reserved and malformed header fields are refused`(_ name: String, _ value: String) async throws {
        let downloader = Downloader()
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let request = DownloadRequest(from: url, to: Self.home, headers: [name: value])
        let error = await #expect(throws: DownloadError.self) { try await downloader.download(request) }
        #expect(error?.code == .invalidRequest)
        await downloader.shutdown()
    }

    static let names: [(String, String?, String)] = [
        ("/files/report.pdf?x=1", nil, "report.pdf"),
        ("/files/", nil, "files"),
        ("/", nil, "download"),
        ("/a", "attachment; filename=\"b.txt\"", "b.txt"),
        ("/a", "attachment; filename*=UTF-8''%e2%82%ac%20rates.txt; filename=\"x\"", "€ rates.txt"),
        ("/a", "attachment; filename=\"../../etc/passwd\"", "passwd"),
        ("/%2e%2e%2fescape", nil, "escape"),
    ]

    @Test(arguments: names)
    func `a file name is chosen from the response, inside the directory`(
        _ path: String, _ disposition: String?, _ name: String
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            var resource = Resource(content)
            resource.contentDisposition = disposition
            let served = path.split(separator: "?").first.map(String.init) ?? path
            environment.server.serve(resource, at: served)
            let request = DownloadRequest(from: environment.server.url(path), into: environment.directory)
            let file = try await environment.downloader.download(request)
            #expect(file.url.lastPathComponent == name)
            #expect(try environment.leftovers == [name])
        }
    }

    @Test
    func `two resources that suggest the same name get two files`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(content), at: "/a/file.bin")
            environment.server.serve(Resource(Content(seed: 9, length: 70)), at: "/b/file.bin")
            for path in ["/a/file.bin", "/b/file.bin", "/a/file.bin"] {
                _ = try await environment.downloader.download(
                    DownloadRequest(from: environment.server.url(path), into: environment.directory))
            }
            #expect(try environment.leftovers == ["file-2.bin", "file.bin"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 48: a wrong digest never reaches the destination`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(Resource(.bytes(Array("abc".utf8))), at: "/abc")
            try Data("old".utf8).write(to: environment.directory.appending(path: "file.bin"))
            var request = environment.request("/abc")
            request.checksum = .sha256(String(repeating: "0", count: 64))
            let error = await #expect(throws: DownloadError.self) { try await environment.downloader.download(request) }
            #expect(error?.code == .checksumMismatch)
            #expect(try environment.leftovers == ["file.bin"])
            #expect(try String(contentsOf: environment.directory.appending(path: "file.bin"), encoding: .utf8) == "old")
            // The digest is the example of FIPS 180-4.
            request.checksum = .sha256("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD")
            #expect(try await environment.downloader.download(request).byteCount == 3)
        }
    }

    @Test
    func `a body longer than allowed is refused, whether its length is declared or not`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(content), at: "/declared")
            var endless = Resource(content)
            endless.script = [[.endless]]
            environment.server.serve(endless, at: "/endless")
            for path in ["/declared", "/endless"] {
                var request = environment.request(path)
                request.maximumByteCount = 10_000
                let error = await #expect(throws: DownloadError.self) {
                    try await environment.downloader.download(request)
                }
                #expect(error?.code == .bodyTooLarge)
            }
        }
    }

    @Test(arguments: ["//tmp", "/./tmp", "//./tmp"])
    func `a destination with empty components is that without them, also when it is restored`(
        _ ending: String
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(content, entityTag: "\"a\"", script: [[.cut(after: 20_000)]]), at: "/one")
            // Without its empty component, the last part would be the path of a directory.
            let destination = URL(fileURLWithPath: environment.directory.path + ending)
            var request = DownloadRequest(from: environment.server.url("/one"), to: destination)
            request.retryPolicy = .never
            #expect(await EventLog(of: environment.downloader.start(request)).error?.retainedByteCount == 20_000)
            let restored = try await environment.downloader.restore(in: environment.directory)
            #expect(restored.count == 1)
            restored.first?.resume()
            let file = try await #require(restored.first).file
            #expect(file.fetchedByteCount == content.length - 20_000)
            #expect(try environment.holds(content, at: "tmp"))
            #expect(try environment.leftovers == ["tmp"])
        }
    }
}
