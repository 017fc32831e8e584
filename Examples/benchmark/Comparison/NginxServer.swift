internal import Foundation
internal import LoopbackServer

/// A process of nginx with its own configuration, which serves files of one directory on 127.0.0.1, also over TLS.
struct NginxServer: Sendable {
    /// The name and version that the program prints.
    let version: String
    /// The URL of the directory, over HTTP.
    let plain: URL
    /// The URL of the directory, over TLS.
    let secure: URL
    /// The port at which all addresses of the loopback network serve the directory.
    let originPort: Int
    private let directory: TemporaryDirectory

    /// Returns a served file.
    func file(_ name: String) -> URL { directory.file(name) }

    /// Runs `body` with a server of files.
    ///
    /// - Parameters:
    ///   - executable: The path of nginx.
    ///   - files: The files by name. `slow` is sent with ``WorkloadSize/limit``, and `small` is also at `small/`
    ///     followed by any name.
    ///   - root: The directory in which the files are created.
    static func withServer<Value: Sendable>(
        _ executable: String, _ files: [String: Content], in root: TemporaryDirectory,
        _ body: (NginxServer) async throws -> Value
    ) async throws -> Value {
        let directory = try root.directory("server")
        for (name, content) in files {
            try Data().write(to: directory.file(name))
            let file = try FileHandle(forWritingTo: directory.file(name))
            defer { try? file.close() }
            try content.forEachPart { try file.write(contentsOf: $0) }
        }
        try Data(Certificate.server.utf8).write(to: directory.file("server.pem"))
        try Data(Certificate.key.utf8).write(to: directory.file("server.key"))
        let version = try await CommandRun.errorOutput(of: [executable, "-v"])
        let name = version.split(separator: ": ").last.map { $0.trimmingCharacters(in: .newlines) } ?? "nginx"
        let (process, ports) = try await start(executable, in: directory)
        // Children inherit blocked signals, and Dispatch's threads block all others.
        defer { kill(process.processIdentifier, SIGKILL) }
        guard let plain = URL(string: "http://127.0.0.1:\(ports.plain)/"),
            let secure = URL(string: "https://127.0.0.1:\(ports.secure)/")
        else { preconditionFailure("a port is a number") }
        return try await body(
            NginxServer(
                version: name, plain: plain, secure: secure, originPort: ports.origin, directory: directory))
    }

    /// The ports at which a server listens.
    private struct Ports: Sendable {
        let plain: Int
        let secure: Int
        let origin: Int
    }

    /// Starts the server, and waits until it listens.
    ///
    /// Another program may use one of the free ports first, as the port of a server or of a client, so the start is
    /// repeated with other ports.
    private static func start(
        _ executable: String, in directory: TemporaryDirectory
    ) async throws -> (Process, Ports) {
        let log = directory.file("error.log")
        for _ in 0..<10 {
            let ports = Ports(plain: try LocalPort.free(), secure: try LocalPort.free(), origin: try LocalPort.free())
            try Data(configuration(ports, directory).utf8).write(to: directory.file("nginx.conf"))
            let process = Process()
            process.executableURL = URL(fileURLWithPath: executable)
            process.arguments = ["-p", directory.url.path, "-e", log.path, "-c", "nginx.conf"]
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try process.run()
            while process.isRunning {
                // The server writes its process identifier after it has bound all ports.
                let text = try? String(contentsOf: directory.file("pid"), encoding: .utf8)
                if text?.trimmingCharacters(in: .newlines) == "\(process.processIdentifier)" { return (process, ports) }
                await Task.yield()
            }
        }
        let reason = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
        throw CommandRun.Failure(command: [executable], status: -1, reason: String(reason.suffix(500)))
    }

    private static func configuration(_ ports: Ports, _ directory: TemporaryDirectory) -> String {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(directory.file($0).path);" }.joined(separator: " ")
        return """
            daemon off; master_process off; pid \(directory.file("pid").path);
            events { worker_connections 8192; }
            http {
                access_log off; sendfile on; keepalive_requests 1000000; \(temporary)
                server {
                    listen 127.0.0.1:\(ports.plain);
                    listen 127.0.0.1:\(ports.secure) ssl;
                    ssl_certificate \(directory.file("server.pem").path);
                    ssl_certificate_key \(directory.file("server.key").path);
                    root \(directory.url.path);
                    location = /slow { limit_rate \(WorkloadSize.limit)m; }
                    location /small/ { try_files /small =404; }
                }
                server {
                    listen \(ports.origin);
                    allow 127.0.0.0/8;
                    deny all;
                    root \(directory.url.path);
                    location / { try_files /small =404; }
                }
            }
            """
    }
}
