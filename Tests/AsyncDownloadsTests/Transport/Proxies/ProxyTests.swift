#if ServerStack && os(Linux)
import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of downloads through proxies.
@Suite(.endsWhenHung) struct ProxyTests {
    private static let content = Content(seed: 1, length: 3_000_000)

    /// Runs `body` with a server, and a downloader whose proxy is `address`.
    private func withServer(
        isSecure: Bool, proxy address: String, pins: [String: Set<PublicKeyHash>] = [:], script: [Step] = [],
        _ body: (TestEnvironment, LoopbackServer, DownloadRequest) async throws -> Void
    ) async throws {
        let proxy = try #require(URL(string: address))
        let roots = try TrustRoots(pem: Data(Certificate.root.utf8))
        try await LoopbackServer.withServer(isSecure: isSecure) { server in
            server.serve(Resource(Self.content, entityTag: "\"1\"", script: script), at: "file")
            let transport = NIOTransport(
                connectTimeout: .seconds(900),
                security: SecuritySettings(additionalTrustRoots: roots, pinnedPublicKeys: pins),
                proxy: .server(proxy))
            try await TestEnvironment.with(transport: transport) { environment in
                var request = environment.request("file")
                request.url = server.url("file")
                try await body(environment, server, request)
            }
        }
    }

    @Test(arguments: [
        (LoopbackProxy.Kind.http, "http", false), (.http, "http", true), (.socks, "socks5", false),
        (.socks, "socks5", true),
    ])
    func `a download goes through the proxy, and resumes through it`(
        _ kind: LoopbackProxy.Kind, _ scheme: String, _ isSecure: Bool
    ) async throws {
        let proxy = try LoopbackProxy(kind)
        defer { proxy.stop() }
        try await withServer(
            isSecure: isSecure, proxy: "\(scheme)://127.0.0.1:\(proxy.port)", script: [[.cut(after: 1_000_000, .reset)]]
        ) { environment, server, request async throws in
            let log = await EventLog(of: environment.downloader.start(request))
            #expect(log.file != nil && log.resumptions.count == 1, "\(String(describing: log.error))")
            #expect(try environment.holds(Self.content))
            #expect(server.requests(at: "file").map(\.status) == [200, 206])
            let port = try #require(server.url("file").port)
            let target =
                switch (kind, isSecure) {
                case (.http, false): "GET http://127.0.0.1:\(port)/file HTTP/1.1"
                case (.http, true): "CONNECT 127.0.0.1:\(port) HTTP/1.1"
                case (.socks, _): "127.0.0.1:\(port)"
                }
            #expect(proxy.record == .init(targets: [target, target]))
        }
    }

    @Test(arguments: [false, true])
    func `boundary 15: credentials are sent to an HTTP proxy, and not to the server`(_ isSecure: Bool) async throws {
        let proxy = try LoopbackProxy(.http)
        defer { proxy.stop() }
        try await withServer(isSecure: isSecure, proxy: "http://us%65r:secret@127.0.0.1:\(proxy.port)") {
            environment, server, request async throws in
            _ = try await environment.downloader.download(request)
            #expect(proxy.record.credentials == ["Basic dXNlcjpzZWNyZXQ="])
            #expect(server.requests(at: "file").count == 1)
            #expect(server.requests(at: "file").allSatisfy { $0.headers["Proxy-Authorization"] == nil })
        }
    }

    @Test(arguments: [false, true], [true, false])
    func `boundary 23: a connection to a proxy can use TLS, and needs the proxy's key if it is pinned`(
        _ isSecure: Bool, _ hasKey: Bool
    ) async throws {
        let proxy = try LoopbackProxy(.http)
        defer { proxy.stop() }
        let relay = try await SecureRelay(to: proxy.port)
        defer { relay.stop() }
        let pins = hasKey ? [:] : ["localhost": Set<PublicKeyHash>()]
        try await withServer(isSecure: isSecure, proxy: "https://user:secret@localhost:\(relay.port)", pins: pins) {
            environment, server, request async throws in
            let log = await EventLog(of: environment.downloader.start(request))
            #expect((log.file != nil) == hasKey, "\(String(describing: log.error))")
            #expect(proxy.record.credentials == (hasKey ? ["Basic dXNlcjpzZWNyZXQ="] : []))
            #expect(server.requests().count == (hasKey ? 1 : 0))
        }
    }

    @Test(arguments: [
        ("user:secret@", nil), ("user:wrong@", "refused the user name"), ("", "accepts none of the offered"),
    ])
    func `a SOCKS proxy receives a user name and a password`(_ credentials: String, _ failure: String?) async throws {
        let proxy = try LoopbackProxy(.socks, requiresPassword: true)
        defer { proxy.stop() }
        try await withServer(isSecure: true, proxy: "socks5h://\(credentials)127.0.0.1:\(proxy.port)") {
            environment, server, request async throws in
            let log = await EventLog(of: environment.downloader.start(request))
            #expect((log.file != nil) == (failure == nil))
            #expect(log.error.map(\.code) == (failure == nil ? nil : .proxyFailed))
            #expect(log.error?.detail.contains(failure ?? "") ?? true, "\(String(describing: log.error))")
            #expect(log.retries == [])
            #expect(server.requests().count == (failure == nil ? 1 : 0))
        }
    }

    /// The certificate is for 127.0.0.1, where the first proxy is as well, and for localhost.
    @Test(
        arguments: [
            (1, "localhost", true), (1, "name.invalid", false), (1, "10.9.8.7", false), (1, "127.0.0.1", true),
            (2, "127.0.0.1", true), (2, "127.1", true), (2, "127.0.0.2", false), (2, "localhost", true),
            (2, "name.invalid", false),
        ] as [(UInt32, String, Bool)])
    func `boundary 23: the certificate behind a proxy has to be that of the server, not of the proxy`(
        _ address: UInt32, _ host: String, _ isTrusted: Bool
    ) async throws {
        for (kind, scheme) in [(LoopbackProxy.Kind.http, "http"), (.socks, "socks5")] {
            let proxy = try LoopbackProxy(kind, address: address)
            defer { proxy.stop() }
            try await withServer(isSecure: true, proxy: "\(scheme)://127.0.0.\(address):\(proxy.port)") {
                environment, server, request async throws in
                var request = request
                let port = try #require(server.url("file").port)
                request.url = try #require(URL(string: "https://\(host):\(port)/file"))
                let log = await EventLog(of: environment.downloader.start(request))
                #expect((log.file != nil) == isTrusted, "\(String(describing: log.error))")
                #expect(log.error.map(\.code) == (isTrusted ? nil : .secureConnectionFailed))
                #expect(server.requests().isEmpty != isTrusted)
            }
        }
    }

    @Test func `a SOCKS proxy resolves the name of the server`() async throws {
        let proxy = try LoopbackProxy(.socks)
        defer { proxy.stop() }
        try await withServer(isSecure: false, proxy: "socks5://127.0.0.1:\(proxy.port)") {
            environment, server, request async throws in
            var request = request
            let port = try #require(server.url("file").port)
            request.url = try #require(URL(string: "http://name.invalid:\(port)/file"))
            _ = try await environment.downloader.download(request)
            #expect(proxy.record.targets == ["name.invalid:\(port)"])
        }
    }

    @Test(arguments: [
        (LoopbackProxy.Kind.http, "http", 407, false), (.http, "http", 403, false), (.http, "http", 501, false),
        (.http, "http", 429, true), (.http, "http", 502, true),
        (.http, "http", 503, true), (.http, "http", 302, false), (.socks, "socks5", 2, false),
        (.socks, "socks5", 4, true),
        (.socks, "socks5", 5, true), (.socks, "socks5", 7, false), (.socks, "socks5", 99, true),
    ])
    func `a refused tunnel is an error that says whether a retry may help`(
        _ kind: LoopbackProxy.Kind, _ scheme: String, _ refusal: Int, _ isRetryable: Bool
    ) async throws {
        let proxy = try LoopbackProxy(kind, refusing: refusal)
        defer { proxy.stop() }
        try await withServer(isSecure: true, proxy: "\(scheme)://127.0.0.1:\(proxy.port)") {
            environment, server, request async throws in
            let error = try #require(await EventLog(of: environment.downloader.start(request)).error)
            #expect(error.code == .proxyFailed)
            #expect(error.isRetryable == isRetryable)
            #expect(error.detail.hasPrefix("the proxy 127.0.0.1:\(proxy.port): "), "\(error.detail)")
            #expect(proxy.record.targets.count == (isRetryable ? 4 : 1))
            #expect(server.requests().isEmpty)
        }
    }

    @Test func `a proxy that refuses connections is named, and no request goes past it`() async throws {
        // Port 1 isn't given to other sockets.
        try await withServer(isSecure: false, proxy: "http://127.0.0.1:1") {
            environment, server, request async throws in
            let error = try #require(await EventLog(of: environment.downloader.start(request)).error)
            #expect(error.code == .cannotConnect && error.isRetryable)
            #expect(error.detail.contains("the proxy 127.0.0.1:1: "), "\(error.detail)")
            #expect(server.requests().isEmpty)
        }
    }

    @Test(arguments: ["socks4://127.0.0.1:1", "ftp://127.0.0.1"])
    func `the address of a proxy that can't be used fails the download`(_ address: String) async throws {
        try await withServer(isSecure: false, proxy: address) { environment, server, request async throws in
            let error = try #require(await EventLog(of: environment.downloader.start(request)).error)
            #expect(error.code == .unsupported)
            #expect(server.requests().isEmpty)
        }
    }

    @Test(arguments: [
        ("", true), ("HTTP/1.1 200 OK\r\nContent-", true), ("garbage\r\n\r\n", false),
        (String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 16), true),
        (String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 17), false),
        ("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n\r\n", false),
    ])
    func `a server that isn't a proxy, or ends, fails the tunnel`(_ response: String, _ isRetryable: Bool) async throws
    {
        let server = try RawServer(Array(repeating: [response], count: 4))
        let proxy = try server.url()
        let transport = NIOTransport(connectTimeout: .seconds(900), proxy: .server(proxy))
        try await TestEnvironment.with(transport: transport) { environment in
            var request = environment.request("file")
            request.url = try #require(URL(string: "https://server.invalid/file"))
            let error = try #require(await EventLog(of: environment.downloader.start(request)).error)
            #expect(error.code == .proxyFailed, "\(error)")
            #expect(error.isRetryable == isRetryable, "\(error)")
            #expect(server.count.connections == (isRetryable ? 4 : 1))
        }
    }
}
#endif
