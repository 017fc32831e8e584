internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Unfinished downloads whose container was moved by an update of the app.
@Suite(.endsWhenHung)
struct MovedContainerTests {
    private static let content = Content(seed: 71, length: 300_000)
    private static let cut: Int64 = 100_000

    /// The containers of an app, below a directory.
    private struct Containers {
        let root: URL
        let name: String

        var home: URL { root.appending(path: "home-\(name)") }
        var group: URL { root.appending(path: "group-\(name)") }
        var port: FixedContainers { FixedContainers(home: home.path, groups: ["group.one": group.path]) }

        /// Renames the containers, as an update of the app does.
        func moved(to name: String) throws -> Self {
            let new = Self(root: root, name: name)
            try FileManager.default.moveItem(at: home, to: new.home)
            try FileManager.default.moveItem(at: group, to: new.group)
            return new
        }
    }

    private func downloader(_ environment: TestEnvironment, _ containers: Containers) -> Downloader {
        var configuration = environment.downloader.configuration
        configuration.partialsDirectory = containers.home.appending(path: "Library/partials")
        configuration.appGroupIdentifiers = ["group.one"]
        configuration.retryPolicy = .never
        return Downloader(
            configuration: configuration, transport: Engine.preferred.makeTransport(),
            store: PartialStore(durability: .processCrash), time: SystemTimeSource(), containers: containers.port)
    }

    @Test(arguments: ["file in home", "directory in home", "file in group"])
    func `life of an app 7: a restored download continues to the destination in the moved container`(
        _ kind: String
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            let old = Containers(root: environment.directory, name: "old")
            let base = kind.hasSuffix("group") ? old.group : old.home
            for directory in [old.home, old.group] {
                try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            }
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.cut(after: Self.cut)]]), at: "/one.bin")
            let url = environment.server.url("/one.bin")
            let request =
                kind.hasPrefix("file")
                ? DownloadRequest(from: url, to: base.appending(path: "Documents/one.bin"))
                : DownloadRequest(from: url, into: base.appending(path: "Documents"))
            let first = downloader(environment, old)
            #expect(await EventLog(of: first.start(request)).error?.retainedByteCount == Self.cut)
            await first.shutdown()

            let new = try old.moved(to: "new")
            let second = downloader(environment, new)
            let directory = try #require(second.configuration.partialsDirectory)
            let restored = try #require(try await second.restore(in: directory).first)
            restored.resume()
            let file = try await restored.file
            let place = (kind.hasSuffix("group") ? new.group : new.home).appending(path: "Documents/one.bin")
            #expect(file.url.path == place.path)
            #expect(file.fetchedByteCount == Self.content.length - Self.cut)
            let data = try Data(contentsOf: place)
            #expect(data.withUnsafeBytes { Self.content.matches($0, at: 0) })
            #expect(!FileManager.default.fileExists(atPath: old.home.path), "nothing is placed at the old path")
            await second.shutdown()
        }
    }

    @Test func `life of an app 7: a new request for the moved destination continues the bytes`() async throws {
        try await TestEnvironment.with { environment async throws in
            let old = Containers(root: environment.directory, name: "old")
            try FileManager.default.createDirectory(at: old.home, withIntermediateDirectories: true)
            try FileManager.default.createDirectory(at: old.group, withIntermediateDirectories: true)
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.cut(after: Self.cut)]]), at: "/one.bin")
            let url = environment.server.url("/one.bin")
            let first = downloader(environment, old)
            _ = await EventLog(of: first.start(DownloadRequest(from: url, to: old.home.appending(path: "one.bin"))))
            await first.shutdown()
            let new = try old.moved(to: "new")
            let second = downloader(environment, new)
            let file = try await second.download(from: url, to: new.home.appending(path: "one.bin"))
            #expect(file.fetchedByteCount == Self.content.length - Self.cut)
            await second.shutdown()
        }
    }

    @Test(arguments: [true, false])
    func `boundary 1: a destination in a container is accepted only in a private directory of partials`(
        _ isConfigured: Bool
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            let old = Containers(root: environment.directory, name: "old")
            let partials = old.home.appending(path: "Library/partials")
            for directory in [partials, old.group] {
                try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            }
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.cut(after: Self.cut)]]), at: "/one.bin")
            let first = downloader(environment, old)
            let destination = old.home.appending(path: "one.bin")
            _ = await EventLog(
                of: first.start(DownloadRequest(from: environment.server.url("/one.bin"), to: destination)))
            // Other users can write to a directory with this mode, or another directory is configured.
            if isConfigured {
                try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: partials.path)
                #expect(try await first.restore(in: partials).isEmpty)
            } else {
                #expect(try await environment.downloader.restore(in: partials).isEmpty)
            }
            await first.shutdown()
        }
    }
}
