import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of the names in a directory for which the server suggests nothing (``DownloadRequest/defaultFileName``).
@Suite(.enabled(if: TemporaryDirectory.hasAttributes), .endsWhenHung)
struct DefaultFileNameTests {
    private static let contents = (0..<5).map { Content(seed: UInt64(70 + $0), length: 120_000) }

    /// Returns a request whose URL ends in `image.jpg`.
    private func request(_ number: Int, _ environment: TestEnvironment, named name: String? = nil) -> DownloadRequest {
        var request = DownloadRequest(
            from: environment.server.url("/\(number)/image.jpg"), into: environment.directory)
        if let name { request.defaultFileName = name }
        return request
    }

    private func serve(_ environment: TestEnvironment, _ number: Int, script: [Step] = []) {
        environment.server.serve(
            Resource(Self.contents[number], entityTag: "\"\(number)\"", script: script), at: "/\(number)/image.jpg")
    }

    @Test(arguments: [
        (nil, "image.jpg"), ("a b.jpg", "a b.jpg"), ("../x/y.jpg", "y.jpg"), ("a\r.jpg", "a_.jpg"),
        ("..", "image.jpg"), ("", "image.jpg"),
    ])
    func `rule 65: the default name is sanitized, and taken from the URL if there is none`(
        _ name: String?, _ expected: String
    ) throws {
        let url = try #require(URL(string: "http://a.example/x/image.jpg?y=z.png#w"))
        var request = DownloadRequest(from: url, into: URL(fileURLWithPath: "/d"))
        if let name { request.defaultFileName = name }
        #expect(request.defaultFileName == expected)
    }

    @Test func `rule 65: a URL without a name leads to a fixed one`() throws {
        let url = try #require(URL(string: "http://a.example/"))
        #expect(DownloadRequest(from: url, into: URL(fileURLWithPath: "/d")).defaultFileName == "download")
    }

    @Test func `rule 65: a suggested name takes precedence over the default name`() async throws {
        try await TestEnvironment.with { environment async throws in
            var resource = Resource(Self.contents[1], entityTag: "\"1\"")
            resource.contentDisposition = "attachment; filename=suggested.jpg"
            environment.server.serve(resource, at: "/1/image.jpg")
            let file = try await environment.downloader.download(request(1, environment, named: "image-2.jpg"))
            #expect(file.url.lastPathComponent == "suggested.jpg")
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 65: files have their default names in whatever order they arrive`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            let names = [1: "image.jpg", 2: "image-2.jpg", 3: "image-3.jpg"]
            for number in names.keys { serve(environment, number, script: [[.holdHead]]) }
            let requests = names.mapValues { name in name }.map { ($0, request($0, environment, named: $1)) }
            var downloads: [Int: Download] = [:]
            for (number, request) in requests { downloads[number] = environment.downloader.start(request) }
            for number in [3, 2, 1] {
                _ = await environment.server.requests(at: "/\(number)/image.jpg", reaching: 1)
                environment.server.release("/\(number)/image.jpg")
                #expect(try await downloads[number]?.file.url.lastPathComponent == names[number])
            }
            for (number, name) in names { #expect(try environment.holds(Self.contents[number], at: name)) }
            // Another process, which knows only the records.
            let later = Downloader(configuration: environment.downloader.configuration)
            for (number, request) in requests.reversed() {
                let file = try await later.download(request)
                #expect(file.isReused && file.url.lastPathComponent == names[number])
            }
            await later.shutdown()
            #expect(try environment.leftovers == names.values.sorted())
        }
    }

    @Test func `rule 65: a default name that another resource has is numbered`() async throws {
        try await TestEnvironment.with { environment async throws in
            for number in [1, 2] { serve(environment, number) }
            environment.server.serve(Resource(Self.contents[4], entityTag: "\"4\""), at: "/4/image-2.jpg")
            let other = DownloadRequest(from: environment.server.url("/4/image-2.jpg"), into: environment.directory)
            _ = try await environment.downloader.download(other)
            for isReused in [false, true] {
                let later = Downloader(configuration: environment.downloader.configuration)
                let file = try await later.download(request(2, environment, named: "image-2.jpg"))
                #expect(file.url.lastPathComponent == "image-2-2.jpg" && file.isReused == isReused)
                await later.shutdown()
            }
            #expect(try environment.holds(Self.contents[4], at: "image-2.jpg"))
            #expect(try environment.leftovers == ["image-2-2.jpg", "image-2.jpg"])
        }
    }

    @Test func `rule 65: an unfinished download keeps its default name when it is restored`() async throws {
        try await TestEnvironment.with { environment async throws in
            serve(environment, 2, script: [[.cut(after: 50_000)]])
            var request = request(2, environment, named: "image-2.jpg")
            request.retryPolicy = .never
            _ = await environment.result(of: request)
            let later = Downloader(configuration: environment.downloader.configuration)
            let restored = try await later.restore(in: environment.directory)
            #expect(restored.map(\.progress.receivedByteCount) == [50_000])
            for download in restored {
                #expect(download.request.defaultFileName == "image-2.jpg")
                download.resume()
                #expect(try await download.file.url.lastPathComponent == "image-2.jpg")
            }
            await later.shutdown()
            #expect(try environment.leftovers == ["image-2.jpg"])
        }
    }

    @Test func `rule 65: the bytes of an unfinished download do not depend on its default name`() async throws {
        try await TestEnvironment.with { environment async throws in
            serve(environment, 2, script: [[.cut(after: 50_000)]])
            var first = request(2, environment, named: "image-2.jpg")
            first.retryPolicy = .never
            _ = await environment.result(of: first)
            let later = Downloader(configuration: environment.downloader.configuration)
            let file = try await later.download(request(2, environment))
            #expect(file.url.lastPathComponent == "image.jpg" && file.fetchedByteCount == 70_000)
            await later.shutdown()
            #expect(try environment.leftovers == ["image.jpg"])
        }
    }

    @Test func `rule 65: requests that share a transfer have their own default names`() async throws {
        try await TestEnvironment.with { environment async throws in
            serve(environment, 1, script: [[.holdHead]])
            let downloads = ["a.jpg", "b.jpg"].map { name in
                environment.downloader.start(request(1, environment, named: name))
            }
            _ = await environment.server.requests(at: "/1/image.jpg", reaching: 1)
            environment.server.release("/1/image.jpg")
            for download in downloads { _ = try await download.file }
            #expect(environment.server.requests(at: "/1/image.jpg").count == 1)
            #expect(try environment.leftovers == ["a.jpg", "b.jpg"])
        }
    }

    @Test(arguments: [true, false])
    func `rule 46: a file that appears during a download is not replaced, even without a record`(
        _ isEarlier: Bool
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            serve(environment, 1, script: [[.holdHead]])
            let existing = environment.directory.appending(path: "image.jpg")
            if isEarlier { try Data("mine".utf8).write(to: existing) }
            let download = environment.downloader.start(request(1, environment))
            _ = await environment.server.requests(at: "/1/image.jpg", reaching: 1)
            if !isEarlier { try Data("mine".utf8).write(to: existing) }
            environment.server.release("/1/image.jpg")
            let file = try await download.file
            #expect(file.url.lastPathComponent == (isEarlier ? "image.jpg" : "image-2.jpg"))
            if !isEarlier { #expect(try Data(contentsOf: existing) == Data("mine".utf8)) }
        }
    }

    /// A volume that accepts fewer names, such as one with FAT.
    private struct RestrictingFileSystem: ForwardingFileSystem {
        func restrictsNames(in directory: String) -> Bool { true }
    }

    @Test(arguments: [true, false])
    func `rule 64: names are portable on volumes that need it`(_ isSuggested: Bool) async throws {
        try await TestEnvironment.with { environment async throws in
            func downloader() -> Downloader {
                Downloader(
                    configuration: environment.downloader.configuration, transport: Engine.preferred.makeTransport(),
                    store: PartialStore(disk: RestrictingFileSystem(), durability: .processCrash, bootID: nil),
                    time: SystemTimeSource())
            }
            var requests: [DownloadRequest] = []
            for (number, name) in [(1, "a%3Ab.txt"), (2, "a%3Fb.txt")] {
                var resource = Resource(Self.contents[number], entityTag: "\"\(number)\"")
                if isSuggested { resource.contentDisposition = "attachment; filename*=UTF-8''\(name)" }
                let path = isSuggested ? "/\(number)" : "/\(number)/\(name)"
                environment.server.serve(resource, at: path)
                requests.append(DownloadRequest(from: environment.server.url(path), into: environment.directory))
            }
            for run in 0..<2 {
                // The second downloader knows only what is on disk.
                let downloader = downloader()
                for (request, name) in zip(requests, ["a_b.txt", "a_b-2.txt"]) {
                    let file = try await downloader.download(request)
                    #expect(file.url.lastPathComponent == name)
                    #expect(file.isReused == (run == 1))
                }
                await downloader.shutdown()
            }
            #expect(try environment.leftovers == ["a_b-2.txt", "a_b.txt"])
        }
    }
}
