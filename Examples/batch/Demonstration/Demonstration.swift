internal import ArgumentParser
internal import AsyncDownloads
internal import Foundation
internal import LoopbackServer

/// A demonstration of the library, with a local server whose faults are scripted.
struct Demonstration: Sendable {
    let console: Console

    /// Downloads all files into a temporary directory, removes it, and reports the behavior of the special files.
    ///
    /// - Throws: An exit code if anything is not as promised.
    func run() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "batch-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let checks = try await LoopbackServer.withServer { server in
            try await self.checks(server, directory)
        }
        StandardError.write(checks.map { $0.text + "\n" }.joined())
        guard checks.allSatisfy(\.isAsPromised) else { throw ExitCode.failure }
    }

    private func checks(_ server: LoopbackServer, _ directory: URL) async throws -> [DemoCheck] {
        var items: [Item] = []
        for demoFile in DemoFile.all {
            server.serve(demoFile.resource, at: demoFile.name)
            items += try demoFile.items(at: server.url(demoFile.name).absoluteString)
        }
        for id in items.indices { items[id].id = id }
        func ids(_ demoFile: DemoFile) -> [Int] {
            items.filter { $0.address.url == server.url(demoFile.name) }.map(\.id)
        }

        func file(_ part: DemoFile.Part) -> DemoFile? { DemoFile.all.first { $0.part == part } }
        let shared = file(.sharedTransfer)
        let observations = Observations(
            idToPause: file(.pausedMidway).flatMap { ids($0).first }, sharedIDs: Set(shared.map(ids) ?? [])
        ) {
            guard let name = shared?.name else { return }
            _ = await server.requests(at: name, reaching: 1)
            server.release(name)
        }
        try await download(items, directory, observations)
        func check(_ demoFile: DemoFile, _ observations: [Observations.DemoObservation]) -> DemoCheck? {
            demoFile.part.map { part in
                DemoCheck(
                    part, of: demoFile, observations: observations, requests: server.requests(at: demoFile.name),
                    sent: server.bodyBytesSent(at: demoFile.name))
            }
        }
        let checks = DemoFile.all.map { check($0, ids($0).map { observations[$0] }) }
        let handles = HandleDemonstration(server: server, directory: directory)
        return
            (checks + [
                check(.released, [try await handles.releaseFromMemory()]),
                check(.canceled, try await handles.cancelAndRepeat()),
            ]).compactMap { $0 }
    }

    private func download(_ items: [Item], _ directory: URL, _ observations: Observations) async throws {
        let session = Session(Downloader.Configuration(), window: items.count, console: console) { event, download in
            observations.take(event, download)
        }
        let signals = Signals { await session.stop() }
        defer { signals.cancel() }
        let outcome = await session.run(ItemFeed(items, into: directory))
        let status = outcome.exitStatus(signal: signals.received)
        if status != 0 { throw ExitCode(status) }
    }
}
