internal import AsyncDownloads
internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of servers that send or declare too many bytes, or send very few.
@Suite(.endsWhenHung)
struct ExcessTests {
    private let content = Content(seed: 23, length: 50_000)

    /// A way to send a head of one mebibyte, in addition to the long field of ``SecrecyTests``.
    enum Flood: String, CaseIterable, Sendable {
        case manyFields, oneName

        func apply(to resource: inout Resource) {
            switch self {
            case .manyFields:
                for _ in 0..<10_000 { resource.headers.append("X", String(repeating: "a", count: 100)) }
            case .oneName:
                resource.headers.append(String(repeating: "a", count: 1 << 20), "x")
            }
            resource.repeatsLastStep = true
        }
    }

    @Test(arguments: Engine.allCases, Flood.allCases)
    func `a head of one mebibyte is rejected`(_ engine: Engine, _ flood: Flood) async throws {
        try await TestEnvironment.with(engine, configure: { $0.retryPolicy = .never }) { environment async throws in
            var resource = Resource(content, entityTag: "\"a\"")
            flood.apply(to: &resource)
            environment.server.serve(resource, at: "/one")
            let error = await EventLog(of: environment.downloader.start(environment.request("/one"))).error
            #expect(
                error.map { [.malformedResponse, .connectionLost].contains($0.code) } == true,
                "\(String(describing: error))")
            #expect((error?.description.utf8.count ?? 0) < 500)
            #expect(try environment.leftovers == [])
        }
    }

    static let framings: [(Resource.Framing, Resource.RangeSupport)] = [
        (.chunked, .ignored), (.chunked, .honored), (.closeDelimited, .ignored),
    ]

    @Test(arguments: Engine.allCases, framings)
    func `an endless body and its file end at the limit`(
        _ engine: Engine, _ framing: (Resource.Framing, Resource.RangeSupport)
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            var resource = Resource(content, entityTag: "\"a\"", script: [[.endless]])
            resource.repeatsLastStep = true
            (resource.framing, resource.ranges) = framing
            environment.server.serve(resource, at: "/one")
            var request = environment.request("/one")
            request.maximumByteCount = 3_000_001
            request.retryPolicy = .never
            let error = await EventLog(of: environment.downloader.start(request)).error
            // A partial response declares its length, so excess bytes make it malformed rather than too large.
            let isPartial = environment.server.requests(at: "/one").contains { $0.status == 206 }
            #expect(error?.code == (isPartial ? .malformedResponse : .bodyTooLarge), "\(String(describing: error))")
            let names = try environment.leftovers
            #expect(!names.contains("file.bin"))
            for name in names where name.hasSuffix(".partial") {
                let path = environment.directory.appending(path: name).path
                let size = try #require(FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
                #expect(size <= 3_000_001)
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `an endless body without a limit continues until it is discarded, and no file remains`(
        _ engine: Engine
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            var resource = Resource(content, script: [[.endless, .throttle(bytesPerSecond: 20_000_000)]])
            resource.ranges = .ignored
            environment.server.serve(resource, at: "/one")
            let download = environment.downloader.start(environment.request("/one"))
            for try await event in download.events {
                if case .progress(let progress) = event, progress.receivedByteCount > 4_000_000 { break }
            }
            download.discard()
            await environment.downloader.shutdown()
            await environment.server.idle(at: "/one")
            #expect(try environment.leftovers == [])
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
    func `rules 13 and 44: a length that no disk can store is rejected before a byte is kept`(
        _ engine: Engine, _ length: (String, [DownloadError.Code])
    ) async throws {
        try await TestEnvironment.with(engine, configure: { $0.retryPolicy = .never }) { environment async throws in
            var resource = Resource(content, entityTag: "\"a\"", script: [[.header("Content-Length", length.0)]])
            (resource.repeatsLastStep, resource.ranges) = (true, .ignored)
            environment.server.serve(resource, at: "/one")
            let error = await EventLog(of: environment.downloader.start(environment.request("/one"))).error
            #expect(error.map { length.1.contains($0.code) } == true, "\(String(describing: error))")
            #expect(error?.retainedByteCount == 0)
            #expect(try environment.leftovers == [])
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 30: bytes after the declared length are not in the file`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(
                Resource(content, entityTag: "\"a\"", script: [[.extraBytes(100_000)]]), at: "/one")
            let file = try await environment.downloader.download(environment.request("/one"))
            #expect(file.byteCount == content.length)
            #expect(try environment.holds(content))
        }
    }

    @Test(arguments: Engine.allCases, [[100], [103], [103, 102, 103]])
    func `interim responses are ignored, whatever their number`(_ engine: Engine, _ statuses: [Int]) async throws {
        try await TestEnvironment.with(engine, configure: { $0.retryPolicy = .never }) { environment async throws in
            let script = [Step(statuses.map(Fault.interim))]
            environment.server.serve(Resource(content, entityTag: "\"a\"", script: script), at: "/one")
            #expect(try await environment.downloader.download(environment.request("/one")).byteCount == content.length)
            #expect(try environment.holds(content))
        }
    }

    @Test(arguments: Engine.allCases)
    func `rule 59: a slow body within the idle timeout continues until the deadline`(_ engine: Engine) async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(engine, time: time) { environment async throws in
            let drops = Array(stride(from: Int64(1000), through: 10_000, by: 1000))
            let resource = Resource(content, entityTag: "\"a\"", script: [Step(drops.map { .stall(after: $0) })])
            environment.server.serve(resource, at: "/one")
            var request = environment.request("/one")
            request.deadline = .seconds(300)
            let download = environment.downloader.start(request)
            let stream = download.events
            let listening = Task { await EventLog(stream) }
            for drop in drops {
                for try await event in download.events {
                    if case .progress(let progress) = event, progress.receivedByteCount >= drop { break }
                }
                // Each part arrives before 30 seconds have passed without bytes, and all take 290 seconds.
                time.advance(by: .seconds(29))
                if drop != drops.last { environment.server.release("/one") }
            }
            #expect(download.state == .downloading)
            time.advance(by: .seconds(10))
            let log = await listening.value
            #expect(log.retries == [])
            #expect(log.error?.code == .deadlineExceeded)
            #expect(log.error?.retainedByteCount == drops.last)
        }
    }
}
