internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

package import struct Foundation.URL

/// An HTTP/1.1 server on 127.0.0.1 whose resources and faults are values.
///
/// Without scripted faults it conforms to RFC 9110 and RFC 9112 in single ranges, If-Range, If-Match,
/// If-Unmodified-Since, 416, and persistent connections. Bodies are generated while they are sent, and are never in
/// memory as a whole.
///
/// Paths are percent-encoded and matched without the query; the leading slash is optional. Every method can be called
/// from any thread. A server that isn't stopped keeps its threads until the process exits.
///
///     let content = Content(seed: 1, length: 1_000_000)
///     try await LoopbackServer.withServer { server in
///         server.serve(Resource(content, entityTag: "\"v1\"", script: [[.cut(after: 1000, .reset)]]), at: "file")
///         try await fetch(server.url("file"))
///         #expect(server.requests(at: "file").map(\.status) == [200, 206])
///     }
package final class LoopbackServer: Sendable {
    /// The port that the server listens on, which the system chose among the free ones.
    package let port: Int

    private let scheme: String
    private let site: Site
    private let group: MultiThreadedEventLoopGroup

    private init(scheme: String, site: Site, group: MultiThreadedEventLoopGroup, port: Int) {
        self.scheme = scheme
        self.site = site
        self.group = group
        self.port = port
    }

    /// Starts a server without resources.
    ///
    /// - Parameters:
    ///   - threads: The number of event loop threads.
    ///   - isSecure: Whether the server uses TLS, with a certificate that ``Certificate/root`` has signed.
    ///   - requiresClient: Whether clients have to present ``Certificate/client``.
    ///   - keepsRequests: Whether the server records requests. If it doesn't, its memory does not grow with their
    ///     number, ``requests(at:)`` returns an empty array, and ``requests(at:reaching:)`` does not return before the
    ///     server is stopped or the task is canceled.
    package static func start(
        threads: Int = 1, isSecure: Bool = false, requiresClient: Bool = false, keepsRequests: Bool = true
    ) async throws -> LoopbackServer {
        let security = isSecure ? try Certificate.context(requiresClient: requiresClient) : nil
        let group = MultiThreadedEventLoopGroup(numberOfThreads: threads)
        let site = Site(keepsRequests: keepsRequests)
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 4096)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 65_536, high: 131_072))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let operations = channel.pipeline.syncOperations
                    if let security { try operations.addHandler(NIOSSLServerHandler(context: security)) }
                    try operations.addHandler(ByteToMessageHandler(HTTPRequestDecoder()))
                    try operations.addHandler(ExchangeHandler(site: site))
                }
            }
        do {
            let channel = try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
            return LoopbackServer(
                scheme: isSecure ? "https" : "http", site: site, group: group, port: channel.localAddress?.port ?? 0)
        } catch {
            try await group.shutdownGracefully()
            throw error
        }
    }

    /// Starts a server, runs `body` with it, and stops it, also if `body` throws.
    package static func withServer<Value>(
        threads: Int = 1, isSecure: Bool = false, requiresClient: Bool = false, keepsRequests: Bool = true,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (LoopbackServer) async throws -> Value
    ) async throws -> Value {
        let server = try await start(
            threads: threads, isSecure: isSecure, requiresClient: requiresClient, keepsRequests: keepsRequests)
        let result: Result<Value, any Error>
        do {
            result = .success(try await body(server))
        } catch {
            result = .failure(error)
        }
        try await server.stop()
        return try result.get()
    }

    /// Closes all connections, ends all waits, and releases the threads.
    ///
    /// Recorded requests and byte counts remain available. Later calls have no effect.
    package func stop() async throws {
        try await group.shutdownGracefully()
        site.close()
    }

    /// Returns the URL of a path, such as `http://127.0.0.1:8080/path`; the path may include a query.
    package func url(_ path: String) -> URL {
        guard let url = URL(string: "\(scheme)://127.0.0.1:\(port)\(path.rooted)") else {
            preconditionFailure("not a percent-encoded path: \(path)")
        }
        return url
    }

    /// Adds or replaces the resource at a path, starting with the next request.
    ///
    /// The script starts with its first step.
    package func serve(_ resource: Resource, at path: String) {
        site.serve(resource, at: path.rooted)
    }

    /// Returns the requests so far, for one path or for all, in order of arrival.
    ///
    /// Requests for paths without a resource are included.
    package func requests(at path: String? = nil) -> [RecordedRequest] {
        site.read { state in
            path.map { state.requests(at: $0.rooted) } ?? state.requests
        }
    }

    /// Waits until at least `count` requests for the path have arrived, and returns all of them.
    ///
    /// Returns fewer requests if the server is stopped or the task is canceled.
    package func requests(at path: String, reaching count: Int) async -> [RecordedRequest] {
        await site.wait(for: .requests(count), at: path.rooted)
        return requests(at: path)
    }

    /// Waits until each exchange at the path has ended with a response or a closed connection.
    ///
    /// Returns immediately if no exchange is in progress, and early if the server is stopped or the task is canceled.
    package func idle(at path: String) async {
        await site.wait(for: .idle, at: path.rooted)
    }

    /// Returns the number of body bytes written to sockets in all responses at the path, including error responses.
    ///
    /// Clients have never received more bytes than this. A client that closes its connection early has received fewer.
    package func bodyBytesSent(at path: String) -> Int64 {
        site.read { $0.bodyBytesSent(at: path.rooted) }
    }

    /// Waits until the number of body bytes that ``bodyBytesSent(at:)`` returns is at least `count`.
    ///
    /// Returns early if the server is stopped or the task is canceled.
    package func bodyBytesSent(at path: String, reaching count: Int64) async {
        await site.wait(for: .sent(count), at: path.rooted)
    }

    /// Releases each exchange in progress at the path from its present `.holdHead` or `.stall`, or from its next one.
    ///
    /// An exchange can therefore be released as soon as its request is recorded. Later exchanges are held again.
    package func release(_ path: String) {
        site.release(path.rooted)
    }
}

extension String {
    fileprivate var rooted: String {
        hasPrefix("/") ? self : "/" + self
    }
}
