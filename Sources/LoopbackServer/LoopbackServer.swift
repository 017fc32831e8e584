#if ServerStack
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

package import struct Foundation.URL

/// An HTTP/1.1 server on 127.0.0.1 whose resources, and whose misbehaviour, are values.
///
/// Honest where nothing else was asked for: single ranges, If-Range, If-Match, If-Unmodified-Since, 416 and kept
/// connections follow RFC 9110 and 9112. Bodies are generated as the client takes them, never held whole.
///
/// Paths are percent-encoded and matched without query; a leading slash may be left out. Every method may be called
/// from any thread. A server that is not stopped keeps its threads until the process ends.
///
///     let content = Content(seed: 1, length: 1_000_000)
///     try await LoopbackServer.withServer { server in
///         server.serve(Resource(content, entityTag: "\"v1\"", script: [[.cut(after: 1000, .reset)]]), at: "file")
///         try await fetch(server.url("file"))
///         #expect(server.requests(at: "file").map(\.status) == [200, 206])
///     }
package final class LoopbackServer: Sendable {
    /// The port it listens on, a free one at the start.
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

    /// Starts a server that serves nothing yet.
    ///
    /// - Parameters:
    ///   - isSecure: Whether it speaks TLS, with a certificate that nobody vouches for.
    ///   - keepsRequests: Whether it remembers requests. Without them a process that sends very many needs no
    ///     memory for them, ``requests(at:)`` is empty, and a wait for a number of them is as long as the server lives.
    package static func start(
        threads: Int = 1, isSecure: Bool = false, keepsRequests: Bool = true
    ) async throws -> LoopbackServer {
        let security = isSecure ? try Certificate.context() : nil
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

    /// Runs `body` with a server that is stopped afterwards, whatever happens.
    package static func withServer<Value>(
        threads: Int = 1, isSecure: Bool = false, keepsRequests: Bool = true,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (LoopbackServer) async throws -> Value
    ) async throws -> Value {
        let server = try await start(threads: threads, isSecure: isSecure, keepsRequests: keepsRequests)
        let result: Result<Value, any Error>
        do {
            result = .success(try await body(server))
        } catch {
            result = .failure(error)
        }
        try await server.stop()
        return try result.get()
    }

    /// Closes every connection, ends every wait and frees the threads.
    ///
    /// What was recorded stays. May be called again.
    package func stop() async throws {
        try await group.shutdownGracefully()
        site.close()
    }

    /// `http://127.0.0.1:port/path`, or the same with `https`; the path may have a query.
    package func url(_ path: String) -> URL {
        guard let url = URL(string: "\(scheme)://127.0.0.1:\(port)\(path.rooted)") else {
            preconditionFailure("not a percent-encoded path: \(path)")
        }
        return url
    }

    /// Adds or replaces what lies at the path, from the next request on.
    ///
    /// The script begins with its first step.
    package func serve(_ resource: Resource, at path: String) {
        site.serve(resource, at: path.rooted)
    }

    /// The requests so far, at one path or at all, in order of arrival; those for paths without resource too.
    package func requests(at path: String? = nil) -> [RecordedRequest] {
        site.read { state in
            path.map { state.requests(at: $0.rooted) } ?? state.requests
        }
    }

    /// Waits until that many requests have arrived at the path, and returns all that have.
    ///
    /// Returns with fewer when the server is stopped or the task is cancelled.
    package func requests(at path: String, reaching count: Int) async -> [RecordedRequest] {
        await site.wait(for: .requests(count), at: path.rooted)
        return requests(at: path)
    }

    /// Waits until no exchange at the path is in progress: each is answered, or its connection closed.
    ///
    /// Returns at once when none was begun, and early when the server is stopped or the task is cancelled.
    package func idle(at path: String) async {
        await site.wait(for: .idle, at: path.rooted)
    }

    /// Body bytes handed to the sockets, of all answers at the path, those of errors included.
    ///
    /// Never less than what clients have received. A client that closes early has received less.
    package func bodyBytesSent(at path: String) -> Int64 {
        site.read { $0.bodyBytesSent(at: path.rooted) }
    }

    /// Waits until ``bodyBytesSent(at:)`` is at least `count`.
    ///
    /// Returns early when the server is stopped or the task is cancelled.
    package func bodyBytesSent(at path: String, reaching count: Int64) async {
        await site.wait(for: .sent(count), at: path.rooted)
    }

    /// Lets every exchange in progress at the path go past the `.holdHead` or `.stall` that it is in, or that comes next.
    ///
    /// So an exchange may be released as soon as its request is recorded. Later exchanges are held again.
    package func release(_ path: String) {
        site.release(path.rooted)
    }
}

extension String {
    fileprivate var rooted: String {
        hasPrefix("/") ? self : "/" + self
    }
}
#endif
