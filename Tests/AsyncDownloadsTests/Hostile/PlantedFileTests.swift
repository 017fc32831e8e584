internal import AsyncDownloads
internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of planted files at the names of hidden files or at the destination, which must not be followed or written to.
@Suite(.endsWhenHung)
struct PlantedFileTests {
    private let content = Content(seed: 21, length: 300_000)
    private let cut: Int64 = 100_000

    /// The kind of hidden file whose name a planted file takes after an interruption.
    enum Place: String, CaseIterable, Sendable {
        case partial, checkpoint, lock, temporary

        /// Returns the name of the planted file, given the names of the files after the interruption.
        func name(among names: [String]) throws -> String {
            switch self {
            case .partial: try #require(names.first { $0.hasSuffix(".partial") })
            case .checkpoint: try #require(names.first { $0.hasSuffix(".checkpoint") })
            case .lock: try #require(names.first { $0.hasSuffix(".lock") })
            case .temporary:
                try #require(names.first { $0.hasSuffix(".partial") }).replacing(".partial", with: ".temp")
            }
        }

        /// The expected restarts.
        var restarts: [RestartReason] {
            switch self {
            case .partial: [.partialMissing]
            case .checkpoint: [.checkpointCorrupt]
            case .lock, .temporary: []
            }
        }
    }

    @Test(arguments: Place.allCases, PlantedFile.allCases)
    func `boundary 11: a planted hidden file costs no more than the received bytes`(
        _ place: Place, _ planted: PlantedFile
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            let victims = try PlantedFile.Victims(in: environment.directory.appending(path: "v"))
            try await interrupt(environment)
            let path = environment.directory.appending(path: try place.name(among: environment.leftovers)).path
            try planted.plant(at: path, victims)
            let log = await EventLog(of: environment.downloader.start(environment.request("/one")))
            #expect(log.error == nil)
            #expect(try victims.areUntouched)
            #expect(log.restarts == place.restarts)
            #expect(try environment.holds(content))
            // A planted file isn't always removed, but it doesn't block the download.
            let stays = planted == .directory || place == .lock && planted != .hardLink
            let left = stays ? [(path as NSString).lastPathComponent] : []
            #expect(try environment.leftovers == left + ["file.bin", "v"])
        }
    }

    @Test(arguments: PlantedFile.allCases)
    func `a link that is planted during a checkpoint is not followed`(_ planted: PlantedFile) async throws {
        try await TestEnvironment.with { environment async throws in
            let victims = try PlantedFile.Victims(in: environment.directory.appending(path: "v"))
            environment.server.serve(Resource(content, entityTag: "\"a\"", script: [[.stall(after: cut)]]), at: "/one")
            let download = environment.downloader.start(environment.request("/one"))
            for try await event in download.events {
                if case .progress(let progress) = event, progress.receivedByteCount >= cut { break }
            }
            let name = try Place.temporary.name(among: environment.leftovers)
            try planted.plant(at: environment.directory.appending(path: name).path, victims)
            download.pause()
            for try await event in download.events { if case .paused = event { break } }
            download.resume()
            #expect(try await download.file.byteCount == content.length)
            #expect(try victims.areUntouched)
            #expect(try environment.holds(content))
        }
    }

    @Test(arguments: [PlantedFile.pipe, .directory, .unixSocket])
    func `rule 46: a destination that is not a regular file is rejected before the first byte`(
        _ planted: PlantedFile
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            let victims = try PlantedFile.Victims(in: environment.directory.appending(path: "v"))
            environment.server.serve(Resource(content, entityTag: "\"a\""), at: "/one")
            try planted.plant(at: environment.directory.appending(path: "file.bin").path, victims)
            let error = await EventLog(of: environment.downloader.start(environment.request("/one"))).error
            #expect(error?.code == .destinationUnusable)
            #expect(try environment.leftovers == ["file.bin", "v"])
        }
    }

    @Test(arguments: PlantedFile.allCases)
    func `rule 46: a destination is replaced, not written through`(_ planted: PlantedFile) async throws {
        try await TestEnvironment.with { environment async throws in
            let victims = try PlantedFile.Victims(in: environment.directory.appending(path: "v"))
            environment.server.serve(Resource(content, entityTag: "\"a\"", script: [[.stall(after: cut)]]), at: "/one")
            let path = environment.directory.appending(path: "file.bin").path
            let download = environment.downloader.start(environment.request("/one"))
            for try await event in download.events {
                if case .progress(let progress) = event, progress.receivedByteCount >= cut { break }
            }
            try planted.plant(at: path, victims)
            environment.server.release("/one")
            let outcome = await EventLog(of: download)
            #expect(try victims.areUntouched)
            switch planted {
            case .linkToFile, .danglingLink, .linkToDirectory, .hardLink:
                #expect(outcome.file?.byteCount == content.length)
                let type = try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
                #expect(type == .typeRegular)
                #expect(try environment.holds(content))
                #expect(try environment.leftovers == ["file.bin", "v"])
            case .pipe, .directory, .unixSocket:
                #expect(outcome.error?.code == .destinationUnusable)
                // The bytes are kept, because the caller may remove the planted file.
                #expect(outcome.error?.retainedByteCount == content.length)
                try FileManager.default.removeItem(atPath: path)
                let again = await EventLog(of: environment.downloader.start(environment.request("/one")))
                #expect(again.restarts == [])
                #expect(try environment.holds(content))
                #expect(environment.server.requests(at: "/one").count == 1, "rule 12")
            }
        }
    }

    private func interrupt(_ environment: TestEnvironment) async throws {
        environment.server.serve(Resource(content, entityTag: "\"a\"", script: [[.cut(after: cut)]]), at: "/one")
        var request = environment.request("/one")
        request.retryPolicy = .never
        let error = await EventLog(of: environment.downloader.start(request)).error
        #expect(error?.code == .connectionLost)
        #expect(error?.retainedByteCount == cut)
    }
}
