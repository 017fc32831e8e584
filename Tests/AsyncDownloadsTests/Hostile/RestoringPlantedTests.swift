internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of checkpoints from an archive or another user in a directory that is restored.
@Suite(.endsWhenHung)
struct RestoringPlantedTests {
    private static let content = Content(seed: 31, length: 300_000)
    private static let cut: Int64 = 100_000

    /// A destination in a checkpoint, and the expected path below the directory.
    struct Destination: Sendable, CustomTestStringConvertible {
        let record: String
        var choosesName = false
        /// The expected path; `nil` if the checkpoint must not be listed.
        let name: String?

        var testDescription: String { "\(record)\(choosesName ? ", a directory" : "")" }
    }

    static let destinations: [Destination] = [
        Destination(record: "file.bin", name: "file.bin"),
        Destination(record: "new/sub/file.bin", name: "new/sub/file.bin"),
        Destination(record: "./~file.bin", name: "~file.bin"),
        Destination(record: "./~/file.bin", name: "~/file.bin"),
        Destination(record: ".", choosesName: true, name: "one"),
        Destination(record: "new", choosesName: true, name: "new/one"),
        Destination(record: "/VICTIMS/missing", name: nil),
        Destination(record: "/VICTIMS/folder", choosesName: true, name: nil),
        Destination(record: "../victims/missing", name: nil),
        Destination(record: "../victims/folder", choosesName: true, name: nil),
        Destination(record: "..", choosesName: true, name: nil),
        Destination(record: "new/../../victims/missing", name: nil),
        Destination(record: "./../victims/missing", name: nil),
        Destination(record: "~/.profile", name: nil),
        Destination(record: "~root/.profile", name: nil),
        Destination(record: "~", choosesName: true, name: nil),
        Destination(record: "//victims/missing", name: nil),
        Destination(record: "new//file.bin", name: nil),
        Destination(record: "new/./file.bin", name: nil),
        Destination(record: "link/missing", name: nil),
        Destination(record: "link", choosesName: true, name: nil),
        Destination(record: "plain/file.bin", name: nil),
        Destination(record: "file.bin\0", name: nil),
    ]

    @Test(arguments: destinations)
    func `boundary 1: a planted checkpoint writes nothing outside the directory`(
        _ destination: Destination
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            let victims = try PlantedFile.Victims(in: environment.directory.appending(path: "victims"))
            let unpacked = environment.directory.appending(path: "unpacked")
            try FileManager.default.createDirectory(at: unpacked, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                at: unpacked.appending(path: "link"), withDestinationURL: victims.folder)
            let record = destination.record.replacing(
                "/VICTIMS", with: environment.directory.appending(path: "victims").path)
            try createUnfinished(in: unpacked, environment, destination: record, choosesName: destination.choosesName)
            try Data().write(to: unpacked.appending(path: "plain"))
            let restored = try await environment.downloader.restore(in: unpacked)
            #expect(restored.count == (destination.name == nil ? 0 : 1))
            for download in restored {
                download.resume()
                let file = try await download.file
                let expected = unpacked.appending(path: destination.name ?? "")
                #expect(file.url.standardizedFileURL.path == expected.standardizedFileURL.path)
                #expect(file.fetchedByteCount == Self.content.length - Self.cut)
                #expect(try environment.holds(Self.content, at: "unpacked/\(destination.name ?? "")"))
            }
            #expect(try victims.areUntouched)
            #expect(try environment.leftovers == ["unpacked", "victims"])
        }
    }

    /// A change that an archive or another user causes, and that this user's processes never cause.
    enum Tampering: String, CaseIterable, Sendable {
        case copiedPartial, partialWithTwoNames, writableCheckpoint, writablePartial, linkedPartial, renamedCheckpoint
    }

    @Test(arguments: Tampering.allCases)
    func `boundary 1: a download that was tampered with is not listed`(_ tampering: Tampering) async throws {
        try await TestEnvironment.with { environment async throws in
            try createUnfinished(in: environment.directory, environment, destination: "file.bin")
            let files = FileManager.default
            let names = try environment.leftovers
            let partial = environment.directory.appending(path: try #require(names.first { $0.hasSuffix(".partial") }))
                .path
            let checkpoint = environment.directory.appending(
                path: try #require(names.first { $0.hasSuffix(".checkpoint") })
            )
            .path
            switch tampering {
            case .copiedPartial:
                try files.copyItem(atPath: partial, toPath: partial + "x")
                try files.removeItem(atPath: partial)
                try files.moveItem(atPath: partial + "x", toPath: partial)
            case .partialWithTwoNames: try files.linkItem(atPath: partial, toPath: partial + "x")
            case .writableCheckpoint: try files.setAttributes([.posixPermissions: 0o666], ofItemAtPath: checkpoint)
            case .writablePartial: try files.setAttributes([.posixPermissions: 0o622], ofItemAtPath: partial)
            case .linkedPartial:
                try files.moveItem(atPath: partial, toPath: partial + "x")
                try files.createSymbolicLink(atPath: partial, withDestinationPath: partial + "x")
            case .renamedCheckpoint:
                try files.moveItem(atPath: checkpoint, toPath: checkpoint.replacing("file.bin", with: "other.bin"))
            }
            #expect(try await environment.downloader.restore(in: environment.directory).isEmpty)
        }
    }

    @Test(arguments: [0o700, 0o755, 0o777, 0o720])
    func `boundary 1: absolute destinations are used only in a configured directory that others cannot write`(
        _ mode: Int
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            let partials = environment.directory.appending(path: "partials")
            try FileManager.default.createDirectory(at: partials, withIntermediateDirectories: true)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: partials.path)
            let destination = environment.directory.appending(path: "file.bin").path
            try createUnfinished(in: partials, environment, destination: destination)
            #expect(try await environment.downloader.restore(in: partials).isEmpty, "the directory is not configured")
            var configuration = environment.downloader.configuration
            configuration.partialsDirectory = partials
            let configured = Downloader(configuration: configuration)
            let restored = try await configured.restore(in: partials)
            #expect(restored.count == (mode & 0o022 == 0 ? 1 : 0))
            for download in restored {
                download.resume()
                #expect(try await download.file.url.path == destination)
            }
            await configured.shutdown()
        }
    }

    @Test func `boundary 1: a link that is planted after listing is not followed`() async throws {
        try await TestEnvironment.with { environment async throws in
            let victims = try PlantedFile.Victims(in: environment.directory.appending(path: "victims"))
            try createUnfinished(in: environment.directory, environment, destination: "sub/file.bin")
            let download = try #require(try await environment.downloader.restore(in: environment.directory).first)
            try FileManager.default.createSymbolicLink(
                at: environment.directory.appending(path: "sub"), withDestinationURL: victims.folder)
            download.resume()
            let log = await EventLog(of: download)
            #expect(log.error?.code == .destinationUnusable)
            #expect(log.error?.retainedByteCount == Self.content.length, "the bytes are kept")
            #expect(try victims.areUntouched)
        }
    }

    @Test func `boundary 18: a tilde in a recorded path never means a home directory`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.cut(after: Self.cut)]]), at: "/one")
            let folder = environment.directory.appending(path: "partials")
            var configuration = environment.downloader.configuration
            configuration.partialsDirectory = folder
            configuration.retryPolicy = .never
            for name in ["~/one", "~one"] {
                environment.server.serve(
                    Resource(Self.content, entityTag: "\"a\"", script: [[.cut(after: Self.cut)]]), at: "/one")
                let first = Downloader(configuration: configuration)
                let destination = folder.appending(path: name)
                _ = await EventLog(
                    of: first.start(DownloadRequest(from: environment.server.url("/one"), to: destination)))
                await first.shutdown()
                let second = Downloader(configuration: configuration)
                let restored = try #require(try await second.restore(in: folder).first)
                restored.resume()
                #expect(try await restored.file.url.path == destination.path)
                #expect(try environment.holds(Self.content, at: "partials/\(name)"))
                await second.shutdown()
            }
        }
    }

    /// Creates an unfinished download of this user, with any destination in its checkpoint.
    private func createUnfinished(
        in directory: URL, _ environment: TestEnvironment, destination: String, choosesName: Bool = false
    ) throws {
        environment.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/one")
        let url = environment.server.url("/one").absoluteString
        let location = PartialLocation(
            directory: directory.path, baseName: choosesName ? "one" : "file.bin",
            request: RequestRecord(url: url, destination: destination, choosesName: choosesName))
        let partial = try PartialStore(durability: .processCrash).open(location)
        try partial.begin(
            Representation(
                finalURL: url, validator: Validator(rawValue: "\"a\""), length: Self.content.length))
        try Self.content.bytes(in: 0..<Self.cut).withUnsafeBytes { try partial.write($0, at: 0) }
        try partial.save(IntervalSet(0..<Self.cut))
        partial.close()
    }
}
