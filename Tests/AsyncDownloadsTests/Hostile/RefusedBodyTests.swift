internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable internal import AsyncDownloads

/// Tests of in-memory bodies that are discarded or written to disk.
@Suite(.endsWhenHung)
struct RefusedBodyTests {
    @Test(arguments: [false, true])
    func `boundary 7: a body that is rejected as too large is discarded`(_ isAnnounced: Bool) async throws {
        try await TestEnvironment.with { environment async throws in
            var configuration = environment.downloader.configuration
            configuration.partialBodies = PartialBodyStore(byteLimit: 0)
            configuration.partialsDirectory = environment.directory.appending(path: "spilled")
            let downloader = Downloader(configuration: configuration)
            var resource = Resource(Content(seed: 46, length: 300_000), entityTag: "\"a\"")
            if !isAnnounced { resource.framing = .chunked }
            environment.server.serve(resource, at: "/one")
            let error = await #expect(throws: DownloadError.self) {
                try await downloader.data(from: environment.server.url("/one"), maximumByteCount: 100_000)
            }
            #expect(error?.code == .bodyTooLarge)
            #expect(error?.retainedByteCount == 0)
            await downloader.shutdown()
            #expect(configuration.partialBodies.byteCount == 0)
            let spilled = try? FileManager.default.contentsOfDirectory(
                atPath: environment.directory.appending(path: "spilled").path)
            #expect(spilled ?? [] == [])
        }
    }

    @Test(arguments: [(3, Duration.seconds(1000)), (10, .zero)])
    func `boundary 7: bodies on disk are limited in total size and age`(_ count: Int, _ age: Duration) throws {
        let directory = try TemporaryDirectory()
        let time = ManualTimeSource()
        let bodies = PartialBodyStore(byteLimit: 0, diskByteLimit: Int64(count * 1000), diskAge: age, time: time)
        let store = PartialStore(durability: .processCrash).keeping(bodies, spilledIn: directory.path)
        // The bytes of a file in the same directory don't count.
        let file = try store.open(directory.location)
        try file.begin(SampleObject.first.representation)
        try file.write(.first, 0..<300)
        try file.save(IntervalSet(0..<300))
        file.close()
        for number in 0..<6 {
            let location = PartialLocation(
                directory: directory.path, baseName: PartialLocation.spilledName,
                request: RequestRecord(url: "https://a.example/\(number)", destination: ""))
            var representation = SampleObject.first.representation
            representation.validator = Validator(rawValue: "\"a\"")
            var body = MemoryBody(representation)
            SampleObject.first.bytes().withUnsafeBytes { body.write($0, at: 0) }
            bodies.keep(body, of: location, on: store)
            time.advance(by: .seconds(1))
        }
        let urls = try store.unfinished(in: directory.path, trustsDestinations: false)
            .filter { $0.location.baseName == PartialLocation.spilledName }.map(\.location.request.url).sorted()
        let kept = age == .zero ? [5] : [3, 4, 5]
        #expect(urls == kept.map { "https://a.example/\($0)" })
        #expect(store.unfinished(at: directory.location)?.received == IntervalSet(0..<300))
    }
}
