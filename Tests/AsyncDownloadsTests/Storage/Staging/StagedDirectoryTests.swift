internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of directories that are replaced in one step, with real downloads.
@Suite("Staged directories", .endsWhenHung)
struct StagedDirectoryTests {
    private static let names = ["config.json", "weights/1.bin", "weights/2.bin"]

    private func content(_ name: String, _ version: Int) -> Content {
        Content(seed: UInt64(version * 10 + (Self.names.firstIndex(of: name) ?? 0)), length: 50_000)
    }

    private func serve(_ version: Int, _ names: [String], _ environment: TestEnvironment) {
        for name in names {
            let content = content(name, version)
            environment.server.serve(Resource(content, entityTag: "\"\(content.seed)\""), at: name)
        }
    }

    /// Downloads the files into a staged directory.
    private func download(
        _ names: [String], into version: StagedDirectory, _ environment: TestEnvironment
    ) async throws -> [DownloadedFile] {
        let requests = names.map {
            DownloadRequest(from: environment.server.url($0), to: version.url.appending(path: $0))
        }
        return try await environment.downloader.downloadAll(requests)
    }

    @Test(.enabled(if: TemporaryDirectory.hasAttributes))
    func `a new version receives only what has changed`() async throws {
        try await TestEnvironment.with { environment async throws in
            let models = environment.directory.appending(path: "models")
            serve(1, Self.names, environment)
            var version = try await StagedDirectory(for: models)
            let first = try await download(Self.names, into: version, environment)
            #expect(!FileManager.default.fileExists(atPath: models.path))
            try await version.publish()
            for (name, file) in zip(Self.names, first) {
                #expect(version.publishedURL(of: file.url).path == models.appending(path: name).path)
                #expect(try environment.holds(content(name, 1), at: "models/\(name)"))
            }
            serve(2, ["config.json"], environment)
            version = try await StagedDirectory(for: models)
            let second = try await download(Self.names, into: version, environment)
            #expect(second.map(\.isReused) == [false, true, true])
            #expect(try environment.holds(content("config.json", 1), at: "models/config.json"))
            try await version.publish()
            #expect(try environment.holds(content("config.json", 2), at: "models/config.json"))
            #expect(try environment.holds(content("weights/2.bin", 1), at: "models/weights/2.bin"))
            // A file of the new version is known again, although its first name was in the old version.
            let third = try await environment.downloader.download(
                DownloadRequest(
                    from: environment.server.url("weights/2.bin"), to: models.appending(path: "weights/2.bin")))
            #expect(third.isReused)
            #expect(try FileManager.default.contentsOfDirectory(atPath: environment.directory.path) == ["models"])
        }
    }

    @Test(.enabled(if: TemporaryDirectory.hasAttributes))
    func `a failed attempt changes nothing, and the next one continues with its files`() async throws {
        try await TestEnvironment.with { environment async throws in
            let models = environment.directory.appending(path: "models")
            let names = Array(Self.names.dropLast())
            serve(1, names, environment)
            var version = try await StagedDirectory(for: models)
            _ = try await download(names, into: version, environment)
            await #expect(throws: DownloadError.self) {
                try await download([Self.names[2]], into: version, environment)
            }
            await version.close()
            #expect(!FileManager.default.fileExists(atPath: models.path))
            serve(1, Self.names, environment)
            version = try await StagedDirectory(for: models)
            let files = try await download(Self.names, into: version, environment)
            #expect(files.map(\.isReused) == [true, true, false])
            try await version.publish()
            #expect(try environment.holds(content("weights/2.bin", 1), at: "models/weights/2.bin"))
        }
    }

    @Test func `one object at a time stages a directory`() async throws {
        let directory = try TemporaryDirectory()
        let destination = URL(fileURLWithPath: directory.destination)
        let first = try await StagedDirectory(for: destination)
        let error = await #expect(throws: DownloadError.self) {
            try await StagedDirectory(for: destination, inUsePolicy: .fail)
        }
        #expect(error?.code == .partialInUse)
        let time = ManualTimeSource()
        @Sendable func wait() async throws -> StagedDirectory {
            try await StagedDirectory(for: destination, store: PartialStore(), inUsePolicy: .wait, time: time)
        }
        let canceled = Task { try await wait() }
        await time.timer(of: .milliseconds(250))
        canceled.cancel()
        time.advance(by: .milliseconds(250))
        #expect(await #expect(throws: DownloadError.self) { try await canceled.value }?.code == .cancelled)
        let second = Task { try await wait() }
        await time.timer(of: .milliseconds(250))
        await first.close()
        time.advance(by: .milliseconds(250))
        try await second.value.discard()
        #expect(try directory.contents == [])
    }

    @Test func `a staged directory that ends without a publication releases its lock`() async throws {
        let directory = try TemporaryDirectory()
        let destination = URL(fileURLWithPath: directory.destination)
        do {
            let version = try await StagedDirectory(for: destination)
            try Data("x".utf8).write(to: version.url.appending(path: "x"))
        }
        let version = try await StagedDirectory(for: destination)
        #expect(directory.bytes(at: version.url.appending(path: "x").path) == Array("x".utf8))
        try await version.discard()
        #expect(try directory.contents == [])
        await version.close()
        for end in [version.publish, version.discard] {
            #expect(await #expect(throws: DownloadError.self) { try await end() }?.code == .destinationUnusable)
        }
    }

    @Test func `a destination that can't be exchanged is refused`() async throws {
        let directory = try TemporaryDirectory()
        try directory.put([1], at: directory.destination)
        for url in [URL(fileURLWithPath: directory.destination), URL(fileURLWithPath: "/", isDirectory: true)] {
            let error = await #expect(throws: DownloadError.self) { try await StagedDirectory(for: url) }
            #expect(error?.code == .destinationUnusable)
        }
        let error = await #expect(throws: DownloadError.self) {
            try await StagedDirectory(for: try #require(URL(string: "http://example.com/models")))
        }
        #expect(error?.code == .invalidRequest)
        #expect(try directory.contents == ["file.zip"])
    }

    @Test func `the target of a symbolic link is replaced`() async throws {
        let directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: "\(directory.path)/real", withIntermediateDirectories: true)
        try directory.link("\(directory.path)/link", to: "real")
        let version = try await StagedDirectory(for: URL(fileURLWithPath: "\(directory.path)/link", isDirectory: true))
        let file = version.url.appending(path: "x")
        try Data("x".utf8).write(to: file)
        #expect(version.publishedURL(of: file).path == "\(directory.path)/real/x")
        #expect(version.publishedURL(of: URL(fileURLWithPath: "/x")).path == "/x")
        try await version.publish()
        #expect(directory.bytes(at: "\(directory.path)/real/x") == Array("x".utf8))
        #expect(try directory.contents == ["link", "real"])
    }
}
