#if ServerStack
internal import AsyncDownloads
internal import Foundation
internal import LoopbackServer

/// A local server of the files of all workloads.
struct ServedFiles: Sendable {
    /// The server program, with its version if it is not the package's own.
    let program: String
    private let base: URL

    /// Returns the URL of a file: `large`, `limited`, or `small/` and any number.
    func url(_ path: String) -> URL { base.appending(path: path) }

    /// The limit of each connection to `limited`, in MiB per second.
    private static let limit = 20

    /// Runs `body` with a server, which is nginx if it is installed.
    static func withServer<Value: Sendable>(
        _ size: WorkloadSize, _ body: (ServedFiles) async throws -> Value
    ) async throws -> Value {
        guard let nginx = Program.path(of: "nginx") else { return try await withLoopbackServer(size, body) }
        let directory = try TemporaryDirectory("server")
        defer { directory.remove() }
        try createFiles(size, in: directory)
        let port = try freePort()
        try Data(configuration(port: port, directory).utf8).write(to: directory.file("nginx.conf"))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: nginx)
        process.arguments = ["-p", directory.url.path, "-e", directory.file("error.log").path, "-c", "nginx.conf"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        // Children inherit blocked signals, and Dispatch's threads block all others.
        defer { kill(process.processIdentifier, SIGKILL) }
        let version = try await CommandRun.errorOutput(of: [nginx, "-v"])
        let name = version.split(separator: ": ").last.map { $0.trimmingCharacters(in: .newlines) } ?? "nginx"
        guard let base = URL(string: "http://127.0.0.1:\(port)/") else { preconditionFailure("a port is a number") }
        while !isListening(port) {
            guard process.isRunning else { throw CommandRun.Failure(command: [nginx], status: -1) }
            await Task.yield()
        }
        return try await body(ServedFiles(program: name, base: base))
    }

    private static func withLoopbackServer<Value: Sendable>(
        _ size: WorkloadSize, _ body: (ServedFiles) async throws -> Value
    ) async throws -> Value {
        try await LoopbackServer.withServer(keepsRequests: false) { server in
            let length = Int64(size.mebibytes) << 20
            server.serve(Resource(Content(seed: 1, length: length), entityTag: "\"large\""), at: "large")
            for number in 0..<size.files {
                server.serve(Resource(Content(seed: 2, length: 4096), entityTag: "\"small\""), at: "small/\(number)")
            }
            return try await body(ServedFiles(program: "the package's own server", base: server.url("")))
        }
    }

    private static func createFiles(_ size: WorkloadSize, in directory: TemporaryDirectory) throws {
        for (name, length) in [
            ("large", Int64(size.mebibytes) << 20), ("limited", Int64(size.limitedMebibytes) << 20), ("small", 4096),
        ] {
            let content = Content(seed: 1, length: length)
            try Data().write(to: directory.file(name))
            let file = try FileHandle(forWritingTo: directory.file(name))
            defer { try? file.close() }
            for start in stride(from: 0, to: length, by: 4 << 20) {
                try file.write(contentsOf: Data(content.bytes(in: start..<min(length, start + 4 << 20))))
            }
        }
    }

    private static func configuration(port: Int, _ directory: TemporaryDirectory) -> String {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(directory.file($0).path);" }.joined(separator: " ")
        return """
            daemon off; master_process off; pid \(directory.file("pid").path);
            events { worker_connections 1024; }
            http {
                access_log off; sendfile on; keepalive_requests 1000000; \(temporary)
                server {
                    listen 127.0.0.1:\(port);
                    root \(directory.url.path);
                    location = /limited { limit_rate \(limit)m; }
                    location /small/ { try_files /small =404; }
                }
            }
            """
    }

    /// Returns a port that no server uses at the moment.
    private static func freePort() throws -> Int {
        guard let (descriptor, port) = listeningAddress(0, binds: true) else { throw CocoaError(.fileReadUnknown) }
        close(descriptor)
        return port
    }

    private static func isListening(_ port: Int) -> Bool {
        guard let (descriptor, _) = listeningAddress(port, binds: false) else { return false }
        close(descriptor)
        return true
    }

    /// Binds a socket to a port of this machine, or connects it; nil if that fails.
    private static func listeningAddress(_ port: Int, binds: Bool) -> (descriptor: Int32, port: Int)? {
        let descriptor = streamSocket()
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = UInt16(port).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isDone = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard binds else { return connect(descriptor, address, length) == 0 }
                return bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
            }
        }
        guard isDone else {
            close(descriptor)
            return nil
        }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }
}
#endif
