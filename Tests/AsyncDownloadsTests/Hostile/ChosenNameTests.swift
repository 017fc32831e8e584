internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of names that a server or a URL supplies and that already exist at the destination.
@Suite(.endsWhenHung)
struct ChosenNameTests {
    private static let content = Content(seed: 41, length: 100_000)

    private func serve(_ environment: TestEnvironment, _ content: Content = content, at path: String, as name: String?)
    {
        var resource = Resource(content, entityTag: "\"a\"")
        if let name { resource.contentDisposition = "attachment; filename=\"\(name)\"" }
        environment.server.serve(resource, at: path)
    }

    private func download(
        _ environment: TestEnvironment, _ path: String, with downloader: Downloader? = nil
    ) async throws -> String {
        let request = DownloadRequest(from: environment.server.url(path), into: environment.directory)
        return try await (downloader ?? environment.downloader).download(request).url.lastPathComponent
    }

    @Test func `boundary 2: a suggested name never replaces a file`() async throws {
        try await TestEnvironment.with { environment async throws in
            let existing = environment.directory.appending(path: "Makefile")
            try Data("all:".utf8).write(to: existing)
            try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: existing.path)
            serve(environment, at: "/x", as: "Makefile")
            #expect(try await download(environment, "/x") == "Makefile-2")
            #expect(try Data(contentsOf: existing) == Data("all:".utf8))
            #expect(try environment.holds(Self.content, at: "Makefile-2"))
            #expect(try environment.leftovers == ["Makefile", "Makefile-2"])
        }
    }

    @Test func `boundary 2: a second run changes nothing`() async throws {
        try await TestEnvironment.with { environment async throws in
            let contents = (0..<6).map { Content(seed: UInt64(50 + $0), length: 50_000) }
            for (index, content) in contents.enumerated() {
                serve(environment, content, at: "/\(index)", as: "name.bin")
            }
            for index in contents.indices { _ = try await download(environment, "/\(index)") }
            let names = try environment.leftovers
            #expect(names == ["name-2.bin", "name-3.bin", "name-4.bin", "name-5.bin", "name-6.bin", "name.bin"])
            let numbers = try names.map { try inode(environment, $0) }
            // The order differs from the order in the first run.
            let second = Downloader(configuration: environment.downloader.configuration)
            for index in [4, 0, 5, 2, 1, 3] {
                let name = try await download(environment, "/\(index)", with: second)
                #expect(try environment.holds(contents[index], at: name))
            }
            #expect(try environment.leftovers == names)
            #expect(try names.map { try inode(environment, $0) } == numbers, "the files are the same ones")
            await second.shutdown()
        }
    }

    @Test func `boundary 2: two resources with the same suggested name get two files`() async throws {
        try await TestEnvironment.with { environment async throws in
            serve(environment, at: "/a", as: "name")
            serve(environment, at: "/b", as: "name")
            #expect(try await download(environment, "/a") == "name")
            #expect(try await download(environment, "/b") == "name-2")
            #expect(try await download(environment, "/a") == "name")
            #expect(try await download(environment, "/b") == "name-2")
            // With the same entity tag, but another length.
            let changed = Content(seed: 99, length: 100_001)
            serve(environment, changed, at: "/a", as: "name")
            #expect(try await download(environment, "/a") == "name-3")
            #expect(try environment.holds(Self.content, at: "name"))
            #expect(try environment.holds(changed, at: "name-3"))
        }
    }

    @Test func `boundary 2: processes that compete for a name lose no file`() async throws {
        try await TestEnvironment.with { environment async throws in
            let contents = (0..<24).map { Content(seed: UInt64(60 + $0), length: 30_000) }
            for (index, content) in contents.enumerated() {
                serve(environment, content, at: "/\(index)", as: "name.bin")
            }
            let names = try await withThrowingTaskGroup(of: (Int, String).self) { group in
                for index in contents.indices {
                    // Each downloader has its own state in memory, like one in another process.
                    let downloader = Downloader(configuration: environment.downloader.configuration)
                    group.addTask {
                        let name = try await download(environment, "/\(index)", with: downloader)
                        await downloader.shutdown()
                        return (index, name)
                    }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            #expect(Set(names.values).count == contents.count)
            for (index, name) in names { #expect(try environment.holds(contents[index], at: name)) }
            #expect(try environment.leftovers.count == contents.count)
        }
    }

    @Test func `boundary 2: a name from the URL counts as the caller's and replaces a file`() async throws {
        try await TestEnvironment.with { environment async throws in
            try Data("old".utf8).write(to: environment.directory.appending(path: "x"))
            serve(environment, at: "/x", as: nil)
            #expect(try await download(environment, "/x") == "x")
            #expect(try environment.holds(Self.content, at: "x"))
            #expect(try await download(environment, "/x") == "x")
            serve(environment, at: "/other/x", as: nil)
            #expect(try await download(environment, "/other/x") == "x-2")
            #expect(try await download(environment, "/other/x") == "x-2")
            #expect(try environment.leftovers == ["x", "x-2"])
        }
    }

    @Test(arguments: [true, false])
    func `boundary 2: a name from the URL does not replace a file that got a number in this process`(
        _ isWrittenInPlace: Bool
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            let contents = (0..<3).map { Content(seed: UInt64(80 + $0), length: 40_000) }
            serve(environment, contents[0], at: "/1/a.txt", as: nil)
            serve(environment, contents[1], at: "/2/a.txt", as: nil)
            serve(environment, contents[2], at: "/3/a-2.txt", as: nil)
            #expect(try await download(environment, "/1/a.txt") == "a.txt")
            #expect(try await download(environment, "/2/a.txt") == "a-2.txt")
            #expect(try await download(environment, "/3/a-2.txt") == "a-2-2.txt")
            #expect(try environment.holds(contents[1], at: "a-2.txt"))
            // The file of the same resource may be replaced; another file with that name may not.
            serve(environment, contents[0], at: "/2/a.txt", as: nil)
            #expect(try await download(environment, "/2/a.txt") == "a-2.txt")
            let numbered = environment.directory.appending(path: "a-2.txt")
            if isWrittenInPlace {
                // The file and its length stay the same.
                let handle = try FileHandle(forWritingTo: numbered)
                try handle.write(contentsOf: Data("mine".utf8))
                try handle.close()
            } else {
                try FileManager.default.removeItem(at: numbered)
                try Data("mine".utf8).write(to: numbered)
            }
            serve(environment, contents[1], at: "/2/a.txt", as: nil)
            #expect(try await download(environment, "/2/a.txt") == "a-3.txt")
            #expect(try Data(contentsOf: numbered).prefix(4) == Data("mine".utf8))
        }
    }

    /// Places a file with the name `name.bin`, and compares its bytes.
    private func place(
        _ text: String, of resource: String, in directory: TemporaryDirectory, _ store: PartialStore,
        _ names: DirectoryNames
    ) throws {
        var location = directory.location
        location.request.url += "?\(resource)"
        let partial = try store.open(location)
        try partial.begin(SampleObject.first.representation)
        let bytes = Array(text.utf8)
        try bytes.withUnsafeBytes { try partial.write($0, at: 0) }
        let target = PlacementTarget(
            .directory(directory.path, name: "name.bin", isCallers: false),
            resource: ResourceKey(stringLiteral: resource), names: names, isFree: { _ in true })
        let path = try partial.place(at: [target], length: Int64(bytes.count))[0].get()
        #expect(directory.bytes(at: path) == bytes)
    }

    @Test func `boundary 9: the cost of a file does not grow with the number of files with its name`() throws {
        let directory = try TemporaryDirectory()
        let files = CallCountingFileSystem()
        let store = PartialStore(disk: files, durability: .processCrash, bootID: POSIXFileSystem.bootID())
        let names = DirectoryNames()
        let count = 200
        for run in 0..<2 {
            for number in 0..<count {
                try place("file \(run) \(number)", of: "\(run)/\(number)", in: directory, store, names)
            }
        }
        #expect(try directory.contents.count == 2 * count)
        #expect(files.lookups.withLock { $0 } < 30 * 2 * count)
    }

    @Test func `boundary 9: a second run finds its files among many with the same name at constant cost`() throws {
        let directory = try TemporaryDirectory()
        let count = 200
        for run in 0..<2 {
            let files = CallCountingFileSystem()
            let store = PartialStore(disk: files, durability: .processCrash, bootID: POSIXFileSystem.bootID())
            let names = DirectoryNames()
            for number in run == 0 ? Array(0..<count) : Array(0..<count).reversed() {
                try place("file \(1000 + number)", of: "\(number)", in: directory, store, names)
            }
            #expect(try directory.contents.count == count)
            #expect(files.lookups.withLock { $0 } < 40 * count)
        }
    }

    /// The source of the name of the second file.
    enum Naming: String, CaseIterable, Sendable { case suggested, fromURL, callers }

    @Test(arguments: Naming.allCases)
    func `boundary 10: two files stay separate on a volume that folds names`(_ naming: Naming) async throws {
        try await TestEnvironment.with { environment async throws in
            let second = Content(seed: 42, length: 100_000)
            let store = PartialStore(disk: FoldingFileSystem(), durability: .processCrash, bootID: nil)
            let downloader = Downloader(
                configuration: environment.downloader.configuration, transport: Engine.preferred.makeTransport(),
                store: store,
                time: SystemTimeSource())
            let isSuggested = naming == .suggested
            serve(environment, at: isSuggested ? "/1" : "/README", as: isSuggested ? "README" : nil)
            serve(environment, second, at: isSuggested ? "/2" : "/readme", as: isSuggested ? "readme" : nil)
            var files: [URL] = []
            for path in isSuggested ? ["/1", "/2"] : ["/README", "/readme"] {
                let url = environment.server.url(path)
                let request =
                    naming == .callers
                    ? DownloadRequest(from: url, to: environment.directory.appending(path: url.lastPathComponent))
                    : DownloadRequest(from: url, into: environment.directory)
                do throws(DownloadError) {
                    files.append(try await downloader.download(request).url)
                } catch {
                    #expect(naming == .callers && files.count == 1)
                    #expect(error.code == .destinationUnusable)
                    #expect(error.retainedByteCount == second.length)
                }
            }
            #expect(files.count == (naming == .callers ? 1 : 2))
            #expect(try environment.holds(Self.content, at: "readme"))
            if naming != .callers { #expect(try environment.holds(second, at: "readme-2")) }
            await downloader.shutdown()
        }
    }

    @Test func `boundary 10: names that differ in case are different on a case-sensitive volume`() async throws {
        try await TestEnvironment.with { environment async throws in
            serve(environment, at: "/README", as: nil)
            serve(environment, Content(seed: 42, length: 100_000), at: "/readme", as: nil)
            #expect(try await download(environment, "/README") == "README")
            // The volume of the temporary directory may be case-insensitive.
            let folds = FileManager.default.fileExists(atPath: environment.directory.path.uppercased())
            #expect(try await download(environment, "/readme") == (folds ? "readme-2" : "readme"))
        }
    }

    @Test(arguments: [Naming.suggested, .fromURL])
    func `boundary 13: a chosen name that is a directory is numbered`(_ naming: Naming) async throws {
        try await TestEnvironment.with { environment async throws in
            try FileManager.default.createDirectory(
                at: environment.directory.appending(path: "name"), withIntermediateDirectories: false)
            serve(environment, at: "/name", as: naming == .suggested ? "name" : nil)
            #expect(try await download(environment, "/name") == "name-2")
            #expect(try environment.leftovers == ["name", "name-2"])
        }
    }

    @Test(arguments: [AbandonmentPolicy.pause, .finish, .discard])
    func `boundary 13: a download to a directory's path fails before the first request`(
        _ policy: AbandonmentPolicy
    ) async throws {
        try await TestEnvironment.with(configure: { $0.abandonmentPolicy = policy }) { environment async throws in
            try FileManager.default.createDirectory(
                at: environment.directory.appending(path: "file.bin"), withIntermediateDirectories: false)
            serve(environment, at: "/x", as: nil)
            let error = await EventLog(of: environment.downloader.start(environment.request("/x"))).error
            #expect(error?.code == .destinationUnusable)
            #expect(environment.server.requests().isEmpty)
            #expect(try environment.leftovers == ["file.bin"])
        }
    }

    private func inode(_ environment: TestEnvironment, _ name: String) throws -> UInt64 {
        try #require(try POSIXFileSystem().information(at: environment.directory.appending(path: name).path)).inode
    }
}
