internal import Foundation
internal import LoopbackServer
internal import ScriptedDaemon
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Downloads that move between a background session and this process.
@Suite(.endsWhenHung)
struct HandOverTests {
    private static let content = Content(seed: 81, length: 300_000)
    private static let count: Int64 = 100_000

    /// Starts a download in the background, which has received `count` bytes, and which the server of `environment`
    /// has, too.
    private func startInBackground(
        _ environment: TestEnvironment, _ app: BackgroundApp, resumeData: Data?
    ) async throws -> (life: BackgroundApp.Life, download: Download) {
        environment.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/one")
        app.makeResumeData.withLock { $0 = { _ in resumeData } }
        let life = app.launch()
        let download = life.downloader.start(environment.request("/one"))
        try await life.settle()
        try app.service.progress(app.tasks[0], received: Self.count)
        try await life.deliver()
        return (life, download)
    }

    /// Delivers the events of the background session until `call` has returned.
    private func deliver(
        _ life: BackgroundApp.Life, until call: Task<Download, any Error>
    ) async throws -> Download {
        let isDone = SharedValue(false)
        let watch = Task {
            defer { isDone.withLock { $0 = true } }
            return try await call.value
        }
        while !isDone.withLock({ $0 }) {
            try await life.deliver()
            await Task.yield()
        }
        return try await watch.value
    }

    private func encodedResumeData(_ environment: TestEnvironment) throws -> Data {
        _ = try environment.paused(Self.content, Self.count, of: "/one")
        var fields = ResumeDataFields()
        fields[ResumeDataFields.Key.url] = .string(environment.server.url("/one").absoluteString)
        fields[ResumeDataFields.Key.count] = .integer(Self.count)
        fields[ResumeDataFields.Key.entityTag] = .string("\"a\"")
        return try fields.data(.binaryArchive)
    }

    @Test func `a download of a background session continues in this process from its bytes`() async throws {
        try await TestEnvironment.with { environment async throws in
            let app = try BackgroundApp()
            let resumeData = try encodedResumeData(environment)
            let (life, background) = try await startInBackground(environment, app, resumeData: resumeData)
            let call = Task { () async throws -> Download in
                try await environment.downloader.adopt(
                    background, temporaryFileIn: environment.temporaryDirectory)
            }
            let download = try await deliver(life, until: call)
            let file = try await download.file
            #expect(file.fetchedByteCount == Self.content.length - Self.count)
            #expect(try environment.holds(Self.content))
            #expect(await background.failure?.code == .superseded)
            #expect(app.tasks.isEmpty && app.spooledNames == [] && app.journal?.isEmpty == true)
        }
    }

    @Test func `without resume data, the download starts at its first byte`() async throws {
        try await TestEnvironment.with { environment async throws in
            let app = try BackgroundApp()
            let (life, background) = try await startInBackground(environment, app, resumeData: nil)
            let call = Task { () async throws -> Download in try await environment.downloader.adopt(background) }
            let file = try await deliver(life, until: call).file
            #expect(file.fetchedByteCount == Self.content.length)
            #expect(app.journal?.isEmpty == true)
        }
    }

    @Test func `resume data that cannot be used leaves the download paused in the background`() async throws {
        try await TestEnvironment.with { environment async throws in
            let app = try BackgroundApp()
            let (life, background) = try await startInBackground(environment, app, resumeData: Data("bogus".utf8))
            let call = Task { () async throws -> Download in try await environment.downloader.adopt(background) }
            await #expect(throws: DownloadError.self) { try await deliver(life, until: call) }
            #expect(background.state == .paused && app.spooledNames == ["1-1.resume"])
            background.resume()
            try await life.settle()
            #expect(app.tasks.first?.resumeData == Data("bogus".utf8))
        }
    }

    @Test func `a download that has finished meanwhile is returned as it is`() async throws {
        try await TestEnvironment.with { environment async throws in
            let app = try BackgroundApp()
            let (life, background) = try await startInBackground(environment, app, resumeData: nil)
            try app.finishAll()
            try await life.deliver()
            let adopted = try await environment.downloader.adopt(background)
            #expect(adopted === background)
            #expect(try await background.file.byteCount > 0)
        }
    }

    @Test func `a download stays in the background if this process has shut its downloader down`() async throws {
        try await TestEnvironment.with { environment async throws in
            let app = try BackgroundApp()
            let (life, background) = try await startInBackground(environment, app, resumeData: nil)
            await environment.downloader.shutdown()
            let call = Task { () async throws -> Download in try await environment.downloader.adopt(background) }
            let error = await #expect(throws: DownloadError.self) { try await deliver(life, until: call) }
            #expect(error?.code == .shutDown)
            #expect(background.state == .paused && app.journal?.isEmpty == false)
        }
    }

    // MARK: From this process to the background

    @Test func `bytes are not imported after a shutdown`() async throws {
        let app = try BackgroundApp()
        let life = app.launch()
        let download = life.downloader.startDownload(app.request(1), isRunning: false)
        try await life.settle()
        guard let transfer = download.backgroundTransfer else {
            Issue.record("the download is not in the background")
            return
        }
        await life.downloader.shutdown()
        try await transfer.session.importBase(for: transfer) { _ throws(DownloadError) in
            Issue.record("the file was opened")
            throw DownloadError(.storageFailure)
        }
        #expect(await download.failure?.code == .shutDown)
    }

    /// Receives `count` bytes in this process, and returns their token.
    private func token(_ environment: TestEnvironment) async throws -> ResumeToken {
        environment.server.serve(
            Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: Self.count)]]), at: "/one")
        let download = environment.downloader.start(environment.request("/one"))
        try await download.progress(reaching: Self.count)
        download.pause()
        for try await event in download.events { if case .paused = event { break } }
        let token = try #require(try await download.resumeToken)
        download.cancel()
        while !environment.downloader.liveTransfers.isEmpty { await Task.yield() }
        return token
    }

    enum Answer: CaseIterable {
        case fragment, wholeBody, otherTag, noTag, shortFragment, wrongPosition, unsatisfiable
    }

    @Test(arguments: Answer.allCases)
    func `background 14: the bytes of this process are continued with a range, and only after proof`(
        answer: Answer
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            let app = try BackgroundApp()
            let token = try await token(environment)
            let life = app.launch()
            let download = try await life.downloader.adopt(
                token, to: environment.directory.appending(path: "file.bin"), partialFileIn: environment.directory)
            try await life.settle()
            let task = try #require(app.tasks.first)
            #expect(task.headers?.contains(["Range", "bytes=\(Self.count)-"]) == true)
            #expect(task.headers?.contains(["If-Range", "\"a\""]) == true)
            let (length, all) = (Self.content.length, Data(Self.content.bytes(in: 0..<Self.content.length)))
            var headers: AsyncDownloads.HeaderFields = ["ETag": "\"a\""]
            var body = all.dropFirst(Int(Self.count))
            var start = Self.count
            var status = 206
            switch answer {
            case .fragment: break
            case .wholeBody: (status, body) = (200, all)
            case .otherTag: headers["ETag"] = "\"b\""
            case .noTag: headers["ETag"] = nil
            case .shortFragment: body = body.dropLast()
            case .wrongPosition: start += 1
            case .unsatisfiable: (status, body) = (416, Data())
            }
            if status == 206 { headers["Content-Range"] = "bytes \(start)-\(length - 1)/\(length)" }
            if status == 416 { headers["Content-Range"] = "bytes */\(length)" }
            try app.service.finish(task, status: status, body: body, headers: headers)
            try await life.deliver()
            guard answer == .fragment || answer == .wholeBody else {
                let fresh = try #require(app.tasks.first)
                #expect(fresh.headers?.contains { $0[0] == "Range" } == false, "one fresh start")
                let leftovers = try environment.leftovers
                #expect(app.spooledNames == [] && !leftovers.contains("file.bin"))
                return
            }
            #expect(try await download.file.byteCount == length)
            #expect(try environment.holds(Self.content))
            #expect(app.spooledNames == [])
        }
    }

    @Test func `a process that ends after the fragment has arrived is followed by one that joins it`() async throws {
        try await TestEnvironment.with { environment async throws in
            let app = try BackgroundApp()
            let token = try await token(environment)
            let first = app.launch()
            _ = try await first.downloader.adopt(
                token, to: environment.directory.appending(path: "file.bin"), partialFileIn: environment.directory)
            try await first.settle()
            first.kill()
            let body = Data(Self.content.bytes(in: Self.count..<Self.content.length))
            let range = "bytes \(Self.count)-\(Self.content.length - 1)/\(Self.content.length)"
            try app.service.finish(
                app.tasks[0], status: 206, body: body, headers: ["ETag": "\"a\"", "Content-Range": range])
            let life = app.launch()
            try await life.deliver()
            let restored = try await life.downloader.restored()
            #expect(try await restored.first?.download.file.byteCount == Self.content.length)
            #expect(try environment.holds(Self.content))
        }
    }

    @Test func `a joined file is the same whether the join was interrupted or not`() throws {
        var disk = SimulatedDisk()
        disk.directories.insert("/spool")
        let system = SimulatedFileSystem(disk)
        let spool = Spool(disk: system, directory: "/spool")
        let bytes = Self.content.bytes(in: 0..<5000)
        try system.replaceContents(of: "/spool/1-0.base", by: Array(bytes[..<2000]), isSynced: true)
        try system.replaceContents(of: "/spool/1-1.body", by: Array(bytes[2000...]), isSynced: true)
        let base = BackgroundBase(fileName: "1-0.base", byteCount: 2000, entityTag: "\"a\"", length: 5000)
        let start = system.history.count
        _ = try spool.join(base, "1-1.body", length: 5000)
        for state in system.history[start...] {
            for crash in state.crashes + state.disorders {
                let next = SimulatedFileSystem(state.after(crash), behavior: .init(remembers: false))
                let again = Spool(disk: next, directory: "/spool")
                _ = try again.join(base, "1-1.body", length: 5000)
                #expect(try next.contents(of: "/spool/1-0.base", limit: 1 << 20) == Array(bytes))
            }
        }
    }

    @Test func `other hand-overs are refused`() async throws {
        try await TestEnvironment.with { environment async throws in
            let app = try BackgroundApp()
            let (life, background) = try await startInBackground(environment, app, resumeData: nil)
            let foreground = environment.downloader.start(environment.request("/two"))
            for (downloader, download) in [(environment.downloader, foreground), (life.downloader, background)] {
                let error = await #expect(throws: DownloadError.self) { try await downloader.adopt(download) }
                #expect(error?.code == .unsupported)
            }
            let restoring = await #expect(throws: DownloadError.self) {
                try await life.downloader.restore(in: environment.directory)
            }
            #expect(restoring?.code == .unsupported)
        }
    }
}
