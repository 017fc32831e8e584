import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// URLs that expire, are refused, or are replaced: bytes are kept if the new URL proves to have the same object.
@Suite(.endsWhenHung)
struct AddressTests {
    private static let content = Content(seed: 51, length: 300_000)
    private static let cut: Int64 = 100_000

    /// Returns a resource whose first response is cut off and whose later responses are refusals.
    private static func expiring(_ status: Int) -> Resource {
        var resource = Resource(content, entityTag: "\"a\"", script: [[.cut(after: cut)], [.status(status)]])
        resource.repeatsLastStep = true
        return resource
    }

    @Test(arguments: Engine.allCases, [401, 403, 410])
    func `a refused URL is refreshed, and the bytes are kept`(_ engine: Engine, _ status: Int) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(Self.expiring(status), at: "/old")
            environment.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/new")
            let contexts = Mutex<[URLRefresh.Context]>([])
            var request = environment.request("/old?signature=1")
            request.refreshURL = URLRefresh { context in
                contexts.withLock { $0.append(context) }
                return FreshURL(environment.server.url("/new?signature=2"))
            }
            let log = await EventLog(of: environment.downloader.start(request))
            #expect(log.error == nil)
            #expect(log.resumptions == [Self.cut])
            #expect(log.restarts == [])
            #expect(try environment.holds(Self.content))
            #expect(
                contexts.withLock { $0 } == [
                    .init(url: request.url, reason: .status(status), receivedByteCount: Self.cut)
                ])
            #expect(environment.server.requests(at: "/new").map(offset(of:)) == [Self.cut])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a fresh URL is requested once for all downloads of a transfer`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            var old = Resource(Self.content, entityTag: "\"a\"", script: [[.holdHead], [.status(403)]])
            old.repeatsLastStep = true
            old.script = [[.holdHead, .status(403)]]
            environment.server.serve(old, at: "/old")
            environment.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/new")
            let count = Mutex(0)
            let refresh = URLRefresh { _ in
                count.withLock { $0 += 1 }
                return FreshURL(environment.server.url("/new"))
            }
            let downloads = (0..<20).map { number in
                var request = environment.request("/old", to: "\(number)")
                if number > 4 { request.refreshURL = refresh }
                return environment.downloader.start(request)
            }
            _ = await environment.server.requests(at: "/old", reaching: 1)
            environment.server.release("/old")
            for download in downloads { #expect(try await download.file.byteCount == Self.content.length) }
            #expect(count.withLock { $0 } == 1)
            #expect(environment.server.requests(at: "/new").count == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a fresh URL that is refused too ends the download, and the bytes are kept`(
        _ engine: Engine
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(Self.expiring(403), at: "/old")
            let count = Mutex(0)
            var request = environment.request("/old")
            request.refreshURL = URLRefresh { _ in
                count.withLock { $0 += 1 }
                return FreshURL(environment.server.url("/old?again"))
            }
            let log = await EventLog(of: environment.downloader.start(request))
            #expect(log.error?.code == .httpStatus)
            #expect(log.error?.statusCode == 403)
            #expect(log.error?.retainedByteCount == Self.cut)
            #expect(count.withLock { $0 } == 1)
        }
    }

    @Test func `a failed refresh counts as an attempt, and one that returns an unusable URL is final`() async throws {
        struct Unreachable: Error {}
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Self.expiring(403), at: "/old")
            environment.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/new")
            let count = Mutex(0)
            var request = environment.request("/old")
            request.refreshURL = URLRefresh { _ in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                if number < 3 { throw Unreachable() }
                return FreshURL(environment.server.url("/new"))
            }
            let log = await EventLog(of: environment.downloader.start(request))
            #expect(log.retries == [.connectionLost, .urlRefreshFailed, .urlRefreshFailed])
            #expect(try environment.holds(Self.content))

            request = environment.request("/old", to: "other.bin")
            request.refreshURL = URLRefresh { _ in FreshURL(URL(fileURLWithPath: "/etc/passwd")) }
            let error = await #expect(throws: DownloadError.self) { try await environment.downloader.download(request) }
            #expect(error?.code == .invalidRequest)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a URL that is known to have expired is refreshed before any request`(_ engine: Engine) async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(engine, time: time) { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: Self.cut)]]), at: "/one")
            environment.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/two")
            var request = environment.request("/one")
            let start = Date(timeIntervalSince1970: Double(time.date.secondsSinceEpoch))
            request.urlExpiration = start.addingTimeInterval(60)
            let contexts = Mutex<[URLRefresh.Context]>([])
            request.refreshURL = URLRefresh { context in
                contexts.withLock { $0.append(context) }
                return FreshURL(environment.server.url("/two"), expiration: start.addingTimeInterval(3600))
            }
            let download = environment.downloader.start(request)
            try await download.progress(reaching: Self.cut)
            download.pause()
            for try await event in download.events { if case .paused = event { break } }
            time.advance(by: .seconds(61))
            download.resume()
            #expect(try await download.file.byteCount == Self.content.length)
            #expect(contexts.withLock { $0.map(\.reason) } == [.expired])
            #expect(environment.server.requests(at: "/one").count == 1)
            #expect(environment.server.requests(at: "/two").map(offset(of:)) == [Self.cut])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a URL can be replaced while bytes are received`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: Self.cut)]]), at: "/one")
            environment.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/two")
            let download = environment.downloader.start(environment.request("/one"))
            try await download.progress(reaching: Self.cut)
            let events = download.events
            try download.replaceURL(with: environment.server.url("/two"))
            let log = await EventLog(events)
            #expect(log.resumptions == [Self.cut])
            #expect(log.file?.finalURL == environment.server.url("/two"))
            #expect(try environment.holds(Self.content))
            #expect(environment.server.requests(at: "/two").map(offset(of:)) == [Self.cut])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a URL can be replaced during a pause, and the original URL still identifies the transfer`(
        _ engine: Engine
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: Self.cut)]]), at: "/one")
            environment.server.serve(Resource(Self.content, entityTag: "\"a\"", script: [[.holdHead]]), at: "/two")
            let download = environment.downloader.start(environment.request("/one"))
            try await download.progress(reaching: Self.cut)
            download.pause()
            for try await event in download.events { if case .paused = event { break } }
            try download.replaceURL(with: environment.server.url("/two"))
            #expect(download.state == .paused)
            download.resume()
            _ = await environment.server.requests(at: "/two", reaching: 1)
            let second = environment.downloader.start(environment.request("/one", to: "second.bin"))
            #expect(second.isCoalesced)
            environment.server.release("/two")
            #expect(try await download.file.byteCount == Self.content.length)
            #expect(try await second.file.byteCount == Self.content.length)
            #expect(environment.server.requests(at: "/one").count == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a URL that is replaced between two attempts ends the delay`(_ engine: Engine) async throws {
        let time = ManualTimeSource()
        try await TestEnvironment.with(engine, time: time) { environment async throws in
            var resource = Resource(Self.content, entityTag: "\"a\"", script: [[.cut(after: Self.cut)]])
            resource.script.append([.retryAfter("300")])
            environment.server.serve(resource, at: "/one")
            environment.server.serve(Resource(Self.content, entityTag: "\"a\""), at: "/two")
            let download = environment.downloader.start(environment.request("/one"))
            await time.timer(ofAtLeast: .seconds(300))
            let events = download.events
            // The host that has asked to wait gets no request for any path.
            let elsewhere = try #require(URL(string: "http://localhost:\(environment.server.port)/two"))
            try download.replaceURL(with: elsewhere)
            let log = await EventLog(events)
            #expect(log.resumptions == [Self.cut])
            #expect(try environment.holds(Self.content))
        }
    }

    /// The validator that the new URL sends, and the offset of the last request for it.
    static let claims: [(String, String?, Bool, [RestartReason])] = [
        ("the same strong tag", "\"a\"", false, []),
        ("another tag", "\"b\"", false, [.contentChanged]),
        ("no tag", nil, false, [.contentChanged]),
        ("a weak tag", "W/\"a\"", false, [.contentChanged]),
    ]

    @Test(arguments: Engine.allCases, claims)
    func `bytes are kept only if the new URL has the same object`(
        _ engine: Engine, _ claim: (name: String, tag: String?, ignoresIfRange: Bool, restarts: [RestartReason])
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            environment.server.serve(
                Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: Self.cut)]]), at: "/one")
            var other = Resource(Self.content, entityTag: claim.tag)
            // The server sends the part regardless of the condition, so only its validator can prove the object.
            other.ifRange = .ignored
            other.honorsIfMatch = false
            environment.server.serve(other, at: "/two")
            let download = environment.downloader.start(environment.request("/one"))
            try await download.progress(reaching: Self.cut)
            let events = download.events
            try download.replaceURL(with: environment.server.url("/two"))
            let log = await EventLog(events)
            #expect(log.restarts == claim.restarts, "\(claim.name)")
            #expect(try environment.holds(Self.content))
        }
    }

    @Test(arguments: Engine.allCases)
    func `an equal Repr-Digest proves the same object, regardless of the entity tag`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            var one = Resource(Self.content, entityTag: "\"a\"", script: [[.stall(after: Self.cut)]])
            one.headers = ["Repr-Digest": Self.content.reprDigest]
            environment.server.serve(one, at: "/one")
            var two = Resource(Self.content, entityTag: "\"b\"")
            two.headers = one.headers
            environment.server.serve(two, at: "/two")
            let download = environment.downloader.start(environment.request("/one"))
            try await download.progress(reaching: Self.cut)
            let events = download.events
            try download.replaceURL(with: environment.server.url("/two"))
            let log = await EventLog(events)
            #expect(log.restarts == [])
            #expect(log.resumptions.last == Self.cut)
            #expect(try environment.holds(Self.content))
        }
    }

    @Test func `credentials are not sent to another origin unless the fresh URL contains them`() async throws {
        try await TestEnvironment.with { environment async throws in
            try await LoopbackServer.withServer { other async throws in
                environment.server.serve(Self.expiring(403), at: "/old")
                other.serve(Resource(Self.content, entityTag: "\"a\"", script: [[.cut(after: 50_000)]]), at: "/new")
                for headers in [nil, ["Authorization": "Bearer new", "X-Own": "b"] as AsyncDownloads.HeaderFields] {
                    environment.server.serve(Self.expiring(403), at: "/old")
                    var request = environment.request("/old", to: headers == nil ? "a" : "b")
                    request.headers = ["Authorization": "Bearer old", "X-Own": "a"]
                    request.nonsecretHeaders = ["X-Own"]
                    request.refreshURL = URLRefresh { _ in FreshURL(other.url("/new"), headers: headers) }
                    _ = try await environment.downloader.download(request)
                    let sent = try #require(other.requests(at: "/new").last)
                    #expect(sent["Authorization"] == headers?["Authorization"])
                    #expect(sent["X-Own"] == (headers?["X-Own"] ?? "a"))
                }
            }
        }
    }

    @Test(arguments: ["ftp://host/file", "http://user:secret@host/file", "http:///file", "file:///etc/passwd"])
    func `replacing a URL with an unusable one has no effect`(_ text: String) async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(Self.content, entityTag: "\"a\"", script: [[.holdHead]]), at: "/one")
            let download = environment.downloader.start(environment.request("/one"))
            _ = await environment.server.requests(at: "/one", reaching: 1)
            let error = #expect(throws: DownloadError.self) {
                try download.replaceURL(with: #require(URL(string: text)))
            }
            #expect(error?.code == .invalidRequest)
            #expect(error?.description.contains("secret") == false)
            environment.server.release("/one")
            #expect(try await download.file.byteCount == Self.content.length)
            #expect(environment.server.requests(at: "/one").count == 1)
        }
    }
}
