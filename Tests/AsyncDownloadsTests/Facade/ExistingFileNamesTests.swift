import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of existing files in directories where the name is chosen: no file of another resource is replaced or used.
@Suite(.enabled(if: TemporaryDirectory.hasAttributes), .endsWhenHung)
struct ExistingFileNamesTests {
    private static let content = Content(seed: 61, length: 300_000)
    private static let other = Content(seed: 62, length: 300_000)

    private static func data(_ content: Content) -> Data { Data(content.bytes(in: 0..<content.length)) }

    /// Returns a request whose file gets the name `image.jpg` or a numbered variant of it.
    private func request(_ number: Int, _ environment: TestEnvironment) -> DownloadRequest {
        var request = environment.request("/\(number)/image.jpg")
        request.destination = .directory(environment.directory)
        return request
    }

    @Test func `rule 61: a file that was used again is replaced by no other download`() async throws {
        try await TestEnvironment.with(.urlSession) { environment async throws in
            environment.server.serve(Resource(Self.content, entityTag: "\"1\""), at: "/1/image.jpg")
            environment.server.serve(Resource(Self.other, entityTag: "\"2\""), at: "/2/image.jpg")
            try Self.data(Self.content).write(to: environment.directory.appending(path: "image.jpg"))
            var first = request(1, environment)
            let digest = try #require(RunningDigest.sha256(of: [UInt8](Self.data(Self.content))))
            first.checksum = .sha256(hexadecimal(digest))
            let file = try await environment.downloader.download(first)
            #expect(file.isReused && file.url.lastPathComponent == "image.jpg")
            #expect(try await environment.downloader.download(request(2, environment)).url != file.url)
            #expect(try environment.holds(Self.content, at: "image.jpg"))
        }
    }

    @Test func `rule 61: the policy keep uses a file without a record for one resource only`() async throws {
        try await TestEnvironment.with(.urlSession) { environment async throws in
            environment.server.serve(Resource(Self.other, entityTag: "\"2\""), at: "/2/image.jpg")
            try Self.data(Self.content).write(to: environment.directory.appending(path: "image.jpg"))
            var requests = [1, 2].map { request($0, environment) }
            for index in requests.indices { requests[index].existingFilePolicy = .keep }
            #expect(try await environment.downloader.download(requests[0]).isReused)
            #expect(try await environment.downloader.download(requests[1]).isReused == false)
            #expect(try environment.holds(Self.content, at: "image.jpg"))
        }
    }

    @Test func `rules 46 and 61: a record says whose file a derived name is`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(Self.content, entityTag: "\"1\""), at: "/1/image.jpg")
            environment.server.serve(Resource(Self.other, entityTag: "\"o\""), at: "/2/image.jpg")
            func request(_ path: String) -> DownloadRequest {
                DownloadRequest(from: environment.server.url(path), into: environment.directory)
            }
            let first = try await environment.downloader.download(request("/1/image.jpg")).url
            let second = try await environment.downloader.download(request("/2/image.jpg")).url
            #expect(first != second)
            // Another process, which knows of no names.
            try await TestEnvironment.with { later async throws in
                for (path, url) in [("/2/image.jpg", second), ("/1/image.jpg", first)] {
                    let file = try await later.downloader.download(request(path))
                    #expect(file.isReused && file.url == url)
                }
                environment.server.serve(Resource(Self.content, entityTag: "\"x\""), at: "/3/image.jpg")
                let third = try await later.downloader.download(request("/3/image.jpg")).url
                #expect(third != first && third != second)
            }
            #expect(try environment.leftovers.count == 3)
        }
    }

    /// Each downloader stands for another process.
    @Test(arguments: Engine.allCases)
    func `rule 62: a file is used again under the name that the server suggests`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            func serve(_ content: Content, _ tag: String?) {
                var resource = Resource(content, entityTag: tag)
                resource.contentDisposition = "attachment; filename=photo.jpg"
                environment.server.serve(resource, at: "/1/image.jpg")
            }
            // A closure holds the body back, so that another thread starts the file.
            func next(
                _ validation: (@Sendable (ResponseHead) async throws -> Void)? = nil
            ) async throws -> DownloadedFile {
                let downloader = Downloader(configuration: environment.downloader.configuration)
                var request = request(1, environment)
                request.validateResponse = validation
                let file = try await downloader.download(request)
                await downloader.shutdown()
                return file
            }
            serve(Self.content, "\"1\"")
            let first = try await next()
            #expect(!first.isReused && first.url.lastPathComponent == "photo.jpg")
            for validation in [nil, { @Sendable (_: ResponseHead) in }] {
                let again = try await next(validation)
                #expect(again.isReused && again.fetchedByteCount == 0 && again.url == first.url)
                #expect(again.byteCount == Self.content.length && again.entityTag == "\"1\"")
            }
            #expect(environment.server.requests().count == 3)
            // A file that was changed proves nothing, and another object has another name (rule 46).
            try Data("mine".utf8).write(to: first.url)
            let second = try await next()
            #expect(!second.isReused && second.url.lastPathComponent == "photo-2.jpg")
            #expect(try await next().url == second.url)
            serve(Self.other, "\"2\"")
            #expect(try await next().url.lastPathComponent == "photo-3.jpg")
            serve(Self.other, "W/\"2\"")
            #expect(try await next().isReused == false)
            #expect(try Data(contentsOf: first.url) == Data("mine".utf8))
            #expect(try environment.holds(Self.content, at: "photo-2.jpg"))
            #expect(try environment.holds(Self.other, at: "photo-3.jpg"))
            #expect(try environment.leftovers.count == 3)
        }
    }

    @Test func `rule 62: a subscriber without the suggested file receives it`() async throws {
        try await TestEnvironment.with { environment async throws in
            var resource = Resource(Self.content, entityTag: "\"1\"")
            resource.contentDisposition = "attachment; filename=photo.jpg"
            environment.server.serve(resource, at: "/1/image.jpg")
            let url = try await environment.downloader.download(request(1, environment)).url
            resource.script = [[.stall(after: 0)]]
            environment.server.serve(resource, at: "/1/image.jpg")
            let first = environment.downloader.start(request(1, environment))
            var other = request(1, environment)
            other.destination = .memory
            let second = environment.downloader.start(other)
            while environment.server.requests().count < 2 { await Task.yield() }
            environment.server.release("/1/image.jpg")
            #expect(try await second.file.data == Self.data(Self.content))
            #expect(try await first.file.url == url)
            #expect(try environment.leftovers.count == 1)
        }
    }

    /// A second downloader stands for a second process, which knows of the file only what its record says.
    @Test(arguments: [ExistingFilePolicy.reuse, .keep])
    func `rule 46: a file that was changed is still that of its resource`(_ policy: ExistingFilePolicy) async throws {
        try await TestEnvironment.with(.urlSession) { environment async throws in
            environment.server.serve(Resource(Self.content, entityTag: "\"1\""), at: "/1/image.jpg")
            environment.server.serve(Resource(Self.other, entityTag: "\"2\""), at: "/2/image.jpg")
            let first = try await environment.downloader.download(request(1, environment))
            let handle = try FileHandle(forWritingTo: first.url)
            try handle.truncate(atOffset: 10)
            try handle.close()
            let second = Downloader(configuration: environment.downloader.configuration)
            var request = request(2, environment)
            request.existingFilePolicy = policy
            let file = try await second.download(request)
            #expect(!file.isReused && file.url != first.url)
            #expect(try Data(contentsOf: first.url) == Self.data(Self.content).prefix(10))
            await second.shutdown()
        }
    }

    /// A name from the URL, and one that the server suggests.
    @Test(arguments: [nil, "photo.jpg"])
    func `rule 61: the policy fail gives a file no other name in a directory`(_ suggestion: String?) async throws {
        try await TestEnvironment.with(configure: { $0.existingFilePolicy = .fail }) { environment async throws in
            var resource = Resource(Self.content, entityTag: "\"1\"")
            if let suggestion { resource.headers["Content-Disposition"] = "attachment; filename=\(suggestion)" }
            environment.server.serve(resource, at: "/1/image.jpg")
            let path = environment.directory.appending(path: suggestion ?? "image.jpg")
            try Data("mine".utf8).write(to: path)
            let request = request(1, environment)
            var error = await #expect(throws: DownloadError.self) { try await environment.downloader.download(request) }
            #expect(error?.code == .destinationExists)
            #expect(environment.server.requests().count == (suggestion == nil ? 0 : 1))
            try FileManager.default.removeItem(at: path)
            // A request that comes earlier joins the transfer, whose body is on the way.
            while !environment.downloader.liveTransfers.isEmpty { await Task.yield() }
            resource.script = [[.stall(after: 200_000)]]
            environment.server.serve(resource, at: "/1/image.jpg")
            let download = environment.downloader.start(request)
            try await download.progress(reaching: 100_000)
            try Data("mine".utf8).write(to: path)
            environment.server.release("/1/image.jpg")
            error = await #expect(throws: DownloadError.self) { try await download.file }
            #expect(error?.code == .destinationExists)
            #expect(try Data(contentsOf: path) == Data("mine".utf8))
            try FileManager.default.removeItem(at: path)
            // The bytes are kept for a later request.
            #expect(try await environment.downloader.download(request).url == path)
            #expect(try environment.holds(Self.content, at: path.lastPathComponent))
            #expect(try environment.leftovers == [path.lastPathComponent])
        }
    }

    /// The cost of a second run over many files.
    @Test(arguments: [false, true])
    func `rule 61: the number of lookups of a kept file is constant`(isNamed: Bool) async throws {
        try await TestEnvironment.with { environment async throws in
            let files = CallCountingFileSystem()
            let downloader = Downloader(
                configuration: environment.downloader.configuration, transport: Engine.preferred.makeTransport(),
                store: PartialStore(disk: files, durability: .processCrash, bootID: POSIXFileSystem.bootID()),
                time: ManualTimeSource())
            let path = environment.directory.appending(path: "image.jpg")
            try Self.data(Self.content).write(to: path)
            var request = request(1, environment)
            if isNamed { request.destination = .file(path) }
            request.existingFilePolicy = .keep
            #expect(try await downloader.download(request).isReused)
            await downloader.shutdown()
            // The identity of the file is recorded with its name. A check for a directory at a named destination is another
            // lookup.
            #expect(files.lookups.withLock { $0 } <= (isNamed ? 3 : 2))
        }
    }

    @Test func `rule 61: a request that joins a transfer keeps its file`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"1\"", script: [[.stall(after: 200_000)]]), at: "/1/image.jpg")
            let first = environment.downloader.start(environment.request("/1/image.jpg", to: "one"))
            try await first.progress(reaching: 100_000)
            let path = environment.directory.appending(path: "two")
            try Data("mine".utf8).write(to: path)
            var keeping = environment.request("/1/image.jpg", to: "two")
            keeping.existingFilePolicy = .keep
            let second = environment.downloader.start(keeping)
            environment.server.release("/1/image.jpg")
            let kept = try await second.file
            #expect(kept.isReused && kept.byteCount == 4 && kept.url == path)
            #expect(try await first.file.isReused == false)
            #expect(try Data(contentsOf: path) == Data("mine".utf8))
        }
    }

    /// A file of another process appears after the second request has joined, or is there before it.
    @Test(arguments: [true, false])
    func `rule 46: a request that joins a transfer replaces no file that appears later`(_ isLater: Bool) async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"1\"", script: [[.stall(after: 200_000)]]), at: "/1/image.jpg")
            let first = environment.downloader.start(environment.request("/1/image.jpg", to: "one"))
            try await first.progress(reaching: 100_000)
            let path = environment.directory.appending(path: "image.jpg")
            if !isLater { try Data("mine".utf8).write(to: path) }
            let second = environment.downloader.start(request(1, environment))
            let transfer = try #require(environment.downloader.liveTransfers.first)
            while transfer.withState({ $0.delivery.examinedFiles.formerFile(of: 2) == nil }) { await Task.yield() }
            if isLater { try Data("mine".utf8).write(to: path) }
            environment.server.release("/1/image.jpg")
            #expect(try await second.file.url.lastPathComponent == (isLater ? "image-2.jpg" : "image.jpg"))
            #expect(try Data(contentsOf: path) == (isLater ? Data("mine".utf8) : Self.data(Self.content)))
            _ = try await first.file
        }
    }

    /// Another process, with and without a name of the caller's choice.
    @Test func `rule 65: a changed resource replaces its file under any name`() async throws {
        try await TestEnvironment.with { environment async throws in
            for number in 1...2 {
                environment.server.serve(Resource(Self.content, entityTag: "\"1\""), at: "/\(number)/image.jpg")
                _ = try await environment.downloader.download(request(number, environment))
            }
            for (round, name) in ["image.jpg", "image.jpg", "image-9.jpg"].enumerated() {
                let content = Content(seed: UInt64(80 + round), length: 1000)
                environment.server.serve(Resource(content, entityTag: "\"c\(round)\""), at: "/2/image.jpg")
                let later = Downloader(configuration: environment.downloader.configuration)
                var request = request(2, environment)
                request.defaultFileName = name
                let isKnown = name == "image.jpg"
                let file = try await later.download(request)
                #expect(file.url.lastPathComponent == (isKnown ? "image-2.jpg" : name) && !file.isReused)
                #expect(try environment.holds(content, at: file.url.lastPathComponent))
                await later.shutdown()
            }
            #expect(try environment.leftovers.count == 3)
        }
    }

    /// Two requests of one transfer for one path, where another program creates a file, or has created one before.
    @Test(arguments: [true, false])
    func `rule 61: each subscriber of a path has its own policy`(_ isThereAtFirst: Bool) async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"1\"", script: [[.stall(after: 200_000)]]), at: "/1/image.jpg")
            let path = environment.directory.appending(path: "image.jpg")
            var (replacing, failing) = (request(1, environment), request(1, environment))
            (replacing.destination, replacing.existingFilePolicy) = (.file(path), .replace)
            (failing.destination, failing.existingFilePolicy) = (.file(path), .fail)
            if isThereAtFirst { try Data("mine".utf8).write(to: path) }
            let first = environment.downloader.start(isThereAtFirst ? replacing : failing)
            try await first.progress(reaching: 100_000)
            let second = environment.downloader.start(isThereAtFirst ? failing : replacing)
            if !isThereAtFirst { try Data("mine".utf8).write(to: path) }
            environment.server.release("/1/image.jpg")
            let (replaced, refused) = isThereAtFirst ? (first, second) : (second, first)
            let error = await #expect(throws: DownloadError.self) { try await refused.file }
            #expect(error?.code == .destinationExists)
            #expect(try await replaced.file.url == path)
            #expect(try environment.holds(Self.content, at: "image.jpg"))
        }
    }
}
