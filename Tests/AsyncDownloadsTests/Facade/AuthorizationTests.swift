import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Secret headers from a closure and from a URL, additional origins that receive them, and refused redirects.
@Suite(.endsWhenHung)
struct AuthorizationTests {
    private let content = Content(seed: 91, length: 200_000)

    @Test(arguments: Engine.allCases)
    func `each attempt asks for a token, and a refusal asks for another one`(_ engine: Engine) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            let script: [Step] = [
                [.cut(after: 50_000)], [.status(401, headers: ["WWW-Authenticate": "Bearer realm=\"a\""])],
            ]
            environment.server.serve(Resource(content, entityTag: "\"a\"", script: script), at: "/a")
            let asked = Mutex<[AuthorizationRequest]>([])
            var request = environment.request("/a")
            request.headers = ["Authorization": "replaced", "X-Own": "kept"]
            request.authorize = { authorization in
                let number = asked.withLock { asked in
                    asked.append(authorization)
                    return asked.count
                }
                return ["Authorization": "Bearer \(number)"]
            }
            let log = await EventLog(of: environment.downloader.start(request))
            #expect(log.error == nil && log.resumptions == [50_000] && log.restarts.isEmpty)
            let url = environment.server.url("/a")
            #expect(
                asked.withLock { $0 } == [
                    AuthorizationRequest(url: url), AuthorizationRequest(url: url, attempt: 2),
                    AuthorizationRequest(
                        url: url, reason: .status(401), challenges: ["Bearer realm=\"a\""], attempt: 2),
                ])
            let requests = environment.server.requests(at: "/a")
            #expect(requests.map { $0["Authorization"] } == ["Bearer 1", "Bearer 2", "Bearer 3"])
            #expect(requests.allSatisfy { $0["X-Own"] == "kept" })
            #expect(try environment.holds(content))
        }
    }

    @Test func `a closure that throws uses up the retries`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(content), at: "/a")
            var request = environment.request("/a")
            request.authorize = { _ in throw CocoaError(.userCancelled) }
            let log = await EventLog(of: environment.downloader.start(request))
            #expect(log.error?.code == .authorizationFailed && log.retries.count == 3)
            request.authorize = { _ in ["Range": "bytes=0-"] }
            #expect(await EventLog(of: environment.downloader.start(request)).error?.code == .invalidRequest)
            #expect(environment.server.requests().isEmpty)
        }
    }

    @Test func `boundary 4: only listed origins receive secret headers after a redirect`() async throws {
        let transport = RenamedServerTransport(base: Engine.preferred.makeTransport())
        try await TestEnvironment.with(transport: transport) { environment async throws in
            let port = environment.server.port
            for (path, location) in [
                ("/a", "http://cdn.files.example:\(port)/b"), ("/b", "http://other.files.example:\(port)/c"),
                ("/c", "http://cdn.files.example:\(port)/d"),
            ] {
                var resource = Resource(content)
                resource.script = [[.redirect(location: location)]]
                environment.server.serve(resource, at: path)
            }
            environment.server.serve(Resource(content), at: "/d")
            var request = environment.renamedRequest("/a")
            request.headers["Cookie"] = "c"
            request.authorize = { _ in ["Authorization": "token"] }
            request.credentialOrigins = ["http://cdn.files.example:\(port)/"]
            _ = try await environment.downloader.download(request)
            let sent = environment.server.requests().map { [$0["Authorization"], $0["Cookie"]] }
            #expect(sent == [["token", "c"], ["token", "c"], [nil, nil], [nil, nil]])
        }
    }

    @Test(arguments: [
        ("https://a.example/", "http://cdn.example"), ("https://a.example/", "cdn.example"),
        ("https://a.example/", "https://cdn.example/path"), ("https://a.example/", "https://user@cdn.example"),
        ("http://a.example/", "ftp://cdn.example"),
    ])
    func `unusable origins are refused`(_ url: String, _ origin: String) throws {
        var request = DownloadRequest(from: try #require(URL(string: url)), to: .memory)
        request.credentialOrigins = [origin]
        #expect(request.validationError?.code == .invalidRequest)
        request.credentialOrigins = ["https://cdn.example:8443"]
        #expect(request.validationError == nil)
    }

    @Test(arguments: [
        ("user:pass@", "user:pass"), ("user@", "user:"), ("b%C3%BC:p%40%3A%2F@", "bü:p@:/"), (":p@", ":p"),
    ])
    func `a user and a password in a URL are sent as Basic authorization, and stay nowhere`(
        _ text: String, _ decoded: String
    ) async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(content, entityTag: "\"a\"", script: [[.stall(after: 80_000)]]), at: "/a")
            let address = "http://\(text)127.0.0.1:\(environment.server.port)/a"
            let url = try #require(URL(string: address))
            var request = DownloadRequest(from: url, to: environment.directory.appending(path: "file.bin"))
            let plain = environment.server.url("/a")
            #expect(request.url == plain && !request.description.contains("pass"))
            #expect(request.description.hasSuffix("with Authorization"))
            let download = environment.downloader.start(request)
            try await download.progress(reaching: 80_000)
            #expect(environment.downloader.downloads(for: url).count == 1)
            download.pause()
            for try await event in download.events { if case .paused = event { break } }
            let basic = "Basic " + Data(decoded.utf8).base64EncodedString()
            #expect(environment.server.requests().map { $0["Authorization"] } == [basic])
            for name in try environment.leftovers {
                let data = try Data(contentsOf: environment.directory.appending(path: name)).prefix(80_000 / 2)
                let written = String(decoding: data.prefix(4096), as: UTF8.self)
                #expect(!written.contains(basic.dropFirst(6)) && !written.contains(text))
            }
            download.cancel()
            request.headers["Authorization"] = "own"
            #expect(request.callerHeaders.fields["Authorization"] == "own")
            request.url = plain
            request.headers = [:]
            #expect(request.callerHeaders.fields.isEmpty)
        }
    }

    @Test(arguments: ["a%3Ab:p@", "a%0d%0a:p@", "a%ff:p@"])
    func `a user name that Basic authorization can't send is refused`(_ text: String) throws {
        let request = DownloadRequest(from: try #require(URL(string: "https://\(text)a.example/")), to: .memory)
        #expect(request.validationError?.code == .invalidRequest && request.url.user == nil)
    }

    @Test(arguments: Engine.allCases, [true, false])
    func `a redirect that a download refuses ends it alone, and keeps the bytes`(
        _ engine: Engine, isShared: Bool
    ) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            var start = Resource(content)
            start.script = [[.redirect(location: "/b")]]
            start.repeatsLastStep = true
            environment.server.serve(start, at: "/a")
            environment.server.serve(Resource(content, entityTag: "\"a\"", script: [[.cut(after: 50_000)]]), at: "/b")
            let proposals = Mutex<[RedirectProposal]>([])
            var request = environment.request("/a")
            request.shouldFollowRedirect = { proposal in
                proposals.withLock { $0.append(proposal) }
                return proposals.withLock(\.count) == 1
            }
            let download = environment.downloader.start(request)
            let other = isShared ? environment.downloader.start(environment.request("/a", to: "other.bin")) : nil
            let log = await EventLog(of: download)
            #expect(log.error?.code == .redirectRefused && log.error?.retainedByteCount == 50_000)
            let (source, target) = (environment.server.url("/a"), environment.server.url("/b"))
            #expect(
                proposals.withLock { $0 } == [
                    RedirectProposal(from: source, to: target, statusCode: 302),
                    RedirectProposal(from: source, to: target, statusCode: 302),
                ])
            if let other {
                _ = try await other.file
                #expect(try environment.holds(content, at: "other.bin"))
            } else {
                #expect(environment.server.requests(at: "/b").count == 1)
            }
        }
    }

    @Test func `a download that joins refuses the redirect that the first one has followed`() async throws {
        try await TestEnvironment.with { environment async throws in
            environment.server.serve(Resource(content, script: [[.redirect(location: "/b")]]), at: "/a")
            environment.server.serve(
                Resource(content, entityTag: "\"a\"", script: [[.stall(after: 50_000)]]), at: "/b")
            let first = environment.downloader.start(environment.request("/a"))
            try await first.progress(reaching: 50_000)
            var request = environment.request("/a", to: "other.bin")
            request.shouldFollowRedirect = { _ in false }
            let second = environment.downloader.start(request)
            #expect(await EventLog(of: second).error?.code == .redirectRefused)
            environment.server.release("/b")
            _ = try await first.file
            #expect(second.isCoalesced && environment.server.requests(at: "/b").count == 1)
            #expect(try environment.leftovers == ["file.bin"])
        }
    }

    @Test func `requests with closures are equal to their copies only`() {
        var request = DownloadRequest(from: .sample("https://a.example/"), to: .memory)
        request.authorize = { _ in [:] }
        request.shouldFollowRedirect = { _ in true }
        let copy = request
        #expect(copy == request && TransferKey(copy) == TransferKey(request))
        request.authorize = { _ in [:] }
        #expect(copy != request && TransferKey(copy) != TransferKey(request))
        var (mine, other) = (copy, request)
        (mine.account, other.account) = ("me", "me")
        #expect(TransferKey(mine) == TransferKey(other))
        #expect(request.backgroundValidationError?.code == .unsupported)
    }
}
