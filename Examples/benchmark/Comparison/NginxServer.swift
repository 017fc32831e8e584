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
        let (port, securePort, originPort) = (try LocalPort.free(), try LocalPort.free(), try LocalPort.free())
        try Data(configuration(port: port, securePort: securePort, originPort: originPort, directory).utf8)
            .write(to: directory.file("nginx.conf"))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments = ["-p", directory.url.path, "-e", directory.file("error.log").path, "-c", "nginx.conf"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        // Children inherit blocked signals, and Dispatch's threads block all others.
        defer { kill(process.processIdentifier, SIGKILL) }
        let version = try await CommandRun.errorOutput(of: [executable, "-v"])
        let name = version.split(separator: ": ").last.map { $0.trimmingCharacters(in: .newlines) } ?? "nginx"
        guard let plain = URL(string: "http://127.0.0.1:\(port)/"),
            let secure = URL(string: "https://127.0.0.1:\(securePort)/")
        else { preconditionFailure("a port is a number") }
        while !LocalPort.isListening(securePort) {
            guard process.isRunning else { throw CommandRun.Failure(command: [executable], status: -1) }
            await Task.yield()
        }
        return try await body(
            NginxServer(
                version: name, plain: plain, secure: secure, originPort: originPort, directory: directory))
    }

    private static func configuration(
        port: Int, securePort: Int, originPort: Int, _ directory: TemporaryDirectory
    ) -> String {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(directory.file($0).path);" }.joined(separator: " ")
        return """
            daemon off; master_process off; pid \(directory.file("pid").path);
            events { worker_connections 8192; }
            http {
                access_log off; sendfile on; keepalive_requests 1000000; \(temporary)
                server {
                    listen 127.0.0.1:\(port);
                    listen 127.0.0.1:\(securePort) ssl;
                    ssl_certificate \(directory.file("server.pem").path);
                    ssl_certificate_key \(directory.file("server.key").path);
                    root \(directory.url.path);
                    location = /slow { limit_rate \(WorkloadSize.limit)m; }
                    location /small/ { try_files /small =404; }
                }
                server {
                    listen \(originPort);
                    allow 127.0.0.0/8;
                    deny all;
                    root \(directory.url.path);
                    location / { try_files /small =404; }
                }
            }
            """
    }
}
