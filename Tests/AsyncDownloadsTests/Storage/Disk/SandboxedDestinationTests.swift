internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of destinations that an app in a sandbox may access, although it may not access their directory.
@Suite(.endsWhenHung)
struct SandboxedDestinationTests {
    private let partials: TemporaryDirectory
    private let documents: TemporaryDirectory
    private let replacements: TemporaryDirectory

    init() throws {
        partials = try TemporaryDirectory()
        documents = try TemporaryDirectory()
        replacements = try TemporaryDirectory()
    }

    @Test(arguments: SandboxedFileSystem.Renames.allCases, [0, PartialFile.bufferedLength])
    func `rule 46: a file arrives, and replaces another one, where only the file may be accessed`(
        renames: SandboxedFileSystem.Renames, bufferedLength: Int64
    ) throws {
        let disk = disk(renames)
        for existing in [nil, "", "old"] as [String?] {
            try? FileManager.default.removeItem(atPath: documents.destination)
            if let existing { try documents.put(existing.utf8, at: documents.destination) }
            let partial = try whole(on: disk, bufferedLength: bufferedLength)
            try partial.place(at: [documents.destination], length: 1000)[0].get()
            try expectPlaced()
            let information = try #require(try POSIXFileSystem().information(at: documents.destination))
            #expect(information.permissions == disk.ordinaryPermissions)
        }
        #expect(disk.replacementDirectoryCount == (renames == .permitted ? 0 : 3))
        #expect(disk.replacementCount == (renames == .denied ? 3 : 0))
    }

    @Test(arguments: SandboxedFileSystem.Renames.allCases)
    func `several destinations receive separate files`(renames: SandboxedFileSystem.Renames) throws {
        let paths = ["\(documents.path)/a.zip", "\(documents.path)/b.zip", "\(partials.path)/c.zip"]
        let partial = try whole(on: disk(renames, files: paths.prefix(2)))
        for result in partial.place(at: paths, length: 1000) { try result.get() }
        for path in paths { #expect(documents.bytes(at: path) == SampleObject.first.bytes()) }
        #expect(try documents.contents == ["a.zip", "b.zip"])
        #expect(try partials.contents == ["c.zip"])
        #expect(try replacements.contents.isEmpty)
    }

    @Test(arguments: SandboxedFileSystem.Renames.allCases)
    func `a file that was placed already is copied`(renames: SandboxedFileSystem.Renames) throws {
        let placed = "\(partials.path)/placed.zip"
        try partials.put(SampleObject.first.bytes(), at: placed)
        let outcomes = store(on: disk(renames)).place(
            copyOf: placed, at: [PlacementTarget(path: documents.destination)], for: partials.location)
        #expect(try outcomes[0].get() == documents.destination)
        #expect(documents.bytes(at: documents.destination) == SampleObject.first.bytes())
        #expect(try documents.contents == ["file.zip"])
        #expect(try replacements.contents.isEmpty)
    }

    @Test(arguments: [0, PartialFile.bufferedLength])
    func `a denied replacement loses neither the bytes nor the existing file`(bufferedLength: Int64) throws {
        try documents.put("old".utf8, at: documents.destination)
        let disk = disk(.denied)
        disk.failReplacing(.denied)
        let partial = try whole(on: disk, bufferedLength: bufferedLength)
        let result = partial.place(at: [documents.destination], length: 1000)[0]
        #expect(result.failure?.code == .permissionDenied)
        #expect(documents.bytes(at: documents.destination) == Array("old".utf8))
        #expect(try documents.contents == ["file.zip"])
        #expect(try replacements.contents.isEmpty)
        // A later process places the file.
        try partial.save(IntervalSet(0..<1000))
        partial.close()
        disk.failReplacing(nil)
        let again = try store(on: disk).open(partials.location)
        #expect(again.finding == .bytes(SampleObject.first.representation, IntervalSet(0..<1000)))
        try again.place(at: [documents.destination], length: 1000)[0].get()
        try expectPlaced()
    }

    @Test func `a full disk is reported, and the bytes are kept`() throws {
        let disk = disk(.denied)
        disk.failCopying(.noSpace)
        let partial = try whole(on: disk)
        try partial.save(IntervalSet(0..<1000))
        #expect(partial.place(at: [documents.destination], length: 1000)[0].failure?.code == .diskFull)
        #expect(try replacements.contents.isEmpty)
        partial.close()
        #expect(
            try store(on: disk).open(partials.location).finding
                == .bytes(SampleObject.first.representation, IntervalSet(0..<1000)))
    }

    @Test(arguments: [SandboxedFileSystem.Renames.permittedFromReplacementDirectories, .denied])
    func `a system without replacement directories reports the missing permission`(
        renames: SandboxedFileSystem.Renames
    ) throws {
        let disk = SandboxedFileSystem(
            documents.path, files: [documents.destination], renames, replacingIn: nil)
        let result = try whole(on: disk).place(at: [documents.destination], length: 1000)[0]
        #expect(result.failure?.code == .permissionDenied)
        #expect(documents.bytes(at: documents.destination) == nil)
    }

    @Test(arguments: SandboxedFileSystem.Renames.allCases, [nil, "", "old"] as [String?])
    func `a file that must not be replaced stays`(renames: SandboxedFileSystem.Renames, existing: String?) throws {
        if let existing { try documents.put(existing.utf8, at: documents.destination) }
        let disk = disk(renames)
        var target = PlacementTarget(path: documents.destination)
        target.replacesFiles = false
        let outcome = try whole(on: disk).place(at: [target], length: 1000)[0]
        let expected: DownloadError.Code? =
            renames == .denied ? .permissionDenied : existing == nil ? nil : .destinationExists
        #expect(outcome.failure?.code == expected)
        let bytes = expected == nil ? SampleObject.first.bytes() : existing.map { Array($0.utf8) }
        #expect(documents.bytes(at: documents.destination) == bytes)
        #expect(disk.replacementCount == 0)
        #expect(try replacements.contents.isEmpty)
    }

    @Test func `what a symbolic link leads to is never replaced`() throws {
        let victim = "\(partials.path)/victim"
        try partials.put("victim".utf8, at: victim)
        try documents.link(documents.destination, to: victim)
        let disk = disk(.denied)
        let result = try whole(on: disk).place(at: [documents.destination], length: 1000)[0]
        #expect(result.failure?.code == .permissionDenied)
        #expect(partials.bytes(at: victim) == Array("victim".utf8))
        #expect(disk.replacementCount == 0)
    }

    @Test(arguments: [false, true])
    func `rule 42: a file in a directory that may not be read is synced again under its name`(fails: Bool) throws {
        let (path, counter) = (documents.path, Counter())
        var files = PretendingFileSystem(locks: .working {})
        files.refusal = { asked, _ in asked == path ? .denied : nil }
        files.syncing = { name in
            guard name == "file.zip" else { return nil }
            _ = counter.enter()
            return fails ? .other : nil
        }
        let result = try whole(on: files).place(at: [documents.destination], length: 1000)[0]
        let expected: DownloadError.Code? = fails ? .permissionDenied : nil
        #expect(result.failure?.code == expected)
        #expect(counter.count == 1)
        #expect(documents.bytes(at: documents.destination) == SampleObject.first.bytes())
    }

    @Test func `the access to the URL of a destination lasts until the file is durable`() throws {
        let disk = disk(.permitted)
        disk.requireAccess()
        let partial = try whole(on: disk)
        var target = PlacementTarget(path: documents.destination)
        #expect(partial.place(at: [target], length: 1000)[0].failure?.code == .permissionDenied)
        target.url = URL(fileURLWithPath: documents.destination)
        #expect(try partial.place(at: [target], length: 1000)[0].get() == documents.destination)
        #expect(disk.accessCount == 0)
        try expectPlaced()
    }

    @Test func `a download accesses its destination with the URL of the request`() async throws {
        let content = Content(seed: 7, length: 900_000)
        let disk = disk(.denied)
        disk.requireAccess()
        let destination = URL(fileURLWithPath: documents.destination)
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(content, entityTag: "\"1\""), at: "/one")
            var configuration = environment.downloader.configuration
            configuration.partialsDirectory = URL(fileURLWithPath: partials.path)
            let downloader = Downloader(
                configuration: configuration, transport: Engine.preferred.makeTransport(),
                store: store(on: disk), time: SystemTimeSource())
            let request = DownloadRequest(from: environment.server.url("/one"), to: destination)
            do {
                #expect(try await downloader.download(request).url == destination)
            } catch {
                await downloader.shutdown()
                throw error
            }
            await downloader.shutdown()
        }
        let data = try Data(contentsOf: destination)
        #expect(data.withUnsafeBytes { content.matches($0, at: 0) } && data.count == 900_000)
        #expect(disk.accessCount == 0)
        #expect(try partials.contents.isEmpty)
    }

    /// Checks that the destination has the bytes, and that no other files are left.
    private func expectPlaced() throws {
        #expect(documents.bytes(at: documents.destination) == SampleObject.first.bytes())
        #expect(try documents.contents == ["file.zip"])
        #expect(try partials.contents.isEmpty)
        #expect(try replacements.contents.isEmpty)
    }

    private func disk(_ renames: SandboxedFileSystem.Renames, files: some Sequence<String>) -> SandboxedFileSystem {
        SandboxedFileSystem(documents.path, files: Set(files), renames, replacingIn: replacements.path)
    }

    private func disk(_ renames: SandboxedFileSystem.Renames) -> SandboxedFileSystem {
        disk(renames, files: [documents.destination])
    }

    private func store(on disk: any FileSystem, bufferedLength: Int64 = 0) -> PartialStore {
        PartialStore(disk: disk, durability: .powerLoss, bootID: "boot", bufferedLength: bufferedLength)
    }

    private func whole(on disk: any FileSystem, bufferedLength: Int64 = 0) throws -> PartialFile {
        let partial = try store(on: disk, bufferedLength: bufferedLength).open(partials.location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<1000)
        return partial
    }
}
