internal import AsyncDownloads
internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Servers that send too much, or promise it, or send next to nothing.
@Suite(.endsWhenHung)
struct ExcessTests {
    private let content = Content(seed: 23, length: 50_000)

    /// Heads of 10 MB; 206 so that nothing else is wrong with them.
    enum Flood: String, CaseIterable, Sendable {
        case oneField, manyFields, oneName

        func apply(to resource: inout Resource) {
            switch self {
            case .oneField:
                resource.script = [[.hugeHeader(bytes: 10 << 20)]]
            case .manyFields:
                for _ in 0..<100_000 { resource.headers.append("X", String(repeating: "a", count: 100)) }
            case .oneName:
                resource.headers.append(String(repeating: "a", count: 10 << 20), "x")
            }
            resource.repeatsLastStep = true
        }
    }

    @Test(arguments: Engine.allCases, Flood.allCases)
    func `ten megabytes of head are refused`(_ engine: Engine, _ flood: Flood) async throws {
        try await Workshop.with(engine, configure: { $0.retryPolicy = .never }) { shop async throws in
            var resource = Resource(content, entityTag: "\"a\"")
            flood.apply(to: &resource)
            shop.server.serve(resource, at: "/one")
            let error = await Story(of: shop.downloader.start(shop.request("/one"))).error
            #expect(
                error.map { [.malformedResponse, .connectionLost].contains($0.code) } == true,
                "\(String(describing: error))")
            #expect((error?.description.utf8.count ?? 0) < 500)
            #expect(try shop.leftovers == [])
        }
    }

    static let framings: [(Resource.Framing, Resource.RangeSupport)] = [
        (.chunked, .ignored), (.chunked, .honoured), (.closeDelimited, .ignored),
    ]

    @Test(arguments: Engine.allCases, framings)
    func `an endless body ends at the limit, and so does the file`(
        _ engine: Engine, _ framing: (Resource.Framing, Resource.RangeSupport)
    ) async throws {
        try await Workshop.with(engine) { shop async throws in
            var resource = Resource(content, entityTag: "\"a\"", script: [[.endless]])
            resource.repeatsLastStep = true
            (resource.framing, resource.ranges) = framing
            shop.server.serve(resource, at: "/one")
            var request = shop.request("/one")
            request.maximumByteCount = 3_000_001
            request.retryPolicy = .never
            let error = await Story(of: shop.downloader.start(request)).error
            // A partial response says how long it is, so that more of it is a lie rather than too much.
            let isPartial = shop.server.requests(at: "/one").contains { $0.status == 206 }
            #expect(error?.code == (isPartial ? .malformedResponse : .bodyTooLarge), "\(String(describing: error))")
            let names = try shop.leftovers
            #expect(!names.contains("file.bin"))
            for name in names where name.hasSuffix(".partial") {
                let path = shop.directory.appending(path: name).path
                let size = try #require(FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
                #expect(size <= 3_000_001)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `an endless body without a limit goes on until it is discarded, and leaves nothing`(
        _ engine: Engine
    ) async throws {
        try await Workshop.with(engine) { shop async throws in
            var resource = Resource(content, script: [[.endless, .throttle(bytesPerSecond: 20_000_000)]])
            resource.ranges = .ignored
            shop.server.serve(resource, at: "/one")
            let download = shop.downloader.start(shop.request("/one"))
            for try await event in download.events {
                if case .progress(let progress) = event, progress.receivedByteCount > 4_000_000 { break }
            }
            download.discard()
            await shop.downloader.shutdown()
            await shop.server.idle(at: "/one")
            #expect(try shop.leftovers == [])
        }
    }

    @Test(
        arguments: Engine.allCases,
        [
            ("4611686018427387904", [.diskFull]),
            ("4611686018427387905", [.malformedResponse]),
            ("9223372036854775808", [.malformedResponse, .connectionLost]),
            ("18446744073709551616", [.malformedResponse, .connectionLost]),
            ("99999999999999999999999999", [.malformedResponse, .connectionLost]),
            ("-1", [.malformedResponse, .connectionLost]),
            ("5, 6", [.malformedResponse, .connectionLost]),
        ] as [(String, [DownloadError.Code])])
    func `rules 13 and 44: a length beyond all disks is refused before a byte is kept`(
        _ engine: Engine, _ length: (String, [DownloadError.Code])
    ) async throws {
        try await Workshop.with(engine, configure: { $0.retryPolicy = .never }) { shop async throws in
            var resource = Resource(content, entityTag: "\"a\"", script: [[.header("Content-Length", length.0)]])
            (resource.repeatsLastStep, resource.ranges) = (true, .ignored)
            shop.server.serve(resource, at: "/one")
            let error = await Story(of: shop.downloader.start(shop.request("/one"))).error
            #expect(error.map { length.1.contains($0.code) } == true, "\(String(describing: error))")
            #expect(error?.bytesKept == 0)
            #expect(try shop.leftovers == [])
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 30: what follows the promised length is not in the file`(_ engine: Engine) async throws {
        try await Workshop.with(engine) { shop async throws in
            shop.server.serve(Resource(content, entityTag: "\"a\"", script: [[.extraBytes(100_000)]]), at: "/one")
            let file = try await shop.downloader.download(shop.request("/one"))
            #expect(file.byteCount == content.length)
            #expect(try shop.holds(content))
        }
    }

    @Test(arguments: Engine.allCases, [[100], [103], [103, 102, 103]])
    func `interim responses are no responses, however many`(_ engine: Engine, _ statuses: [Int]) async throws {
        try await Workshop.with(engine, configure: { $0.retryPolicy = .never }) { shop async throws in
            let script = [Step(statuses.map(Fault.interim))]
            shop.server.serve(Resource(content, entityTag: "\"a\"", script: script), at: "/one")
            #expect(try await shop.downloader.download(shop.request("/one")).byteCount == content.length)
            #expect(try shop.holds(content))
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 59: a drip within the idle timeout goes on, and the deadline ends it`(_ engine: Engine) async throws {
        let time = ManualTimeSource()
        try await Workshop.with(engine, time: time) { shop async throws in
            let drops = Array(stride(from: Int64(1000), through: 10_000, by: 1000))
            let resource = Resource(content, entityTag: "\"a\"", script: [Step(drops.map { .stall(after: $0) })])
            shop.server.serve(resource, at: "/one")
            var request = shop.request("/one")
            request.deadline = .seconds(300)
            let download = shop.downloader.start(request)
            let stream = download.events
            let listening = Task { await Story(stream) }
            for drop in drops {
                for try await event in download.events {
                    if case .progress(let progress) = event, progress.receivedByteCount >= drop { break }
                }
                // A byte in time each time: never the 30 seconds of silence, but 290 in all.
                time.advance(by: .seconds(29))
                if drop != drops.last { shop.server.release("/one") }
            }
            #expect(download.state == .downloading)
            time.advance(by: .seconds(10))
            let story = await listening.value
            #expect(story.retries == [])
            #expect(story.error?.code == .deadlineExceeded)
            #expect(story.error?.bytesKept == drops.last)
        }
    }
}
