internal import Foundation
internal import TestSupport
internal import Testing

/// A third-party HTTP server that serves one directory on 127.0.0.1 during a test, or a proxy.
final class ForeignServer: Sendable {
    /// The servers that may be installed on a machine.
    enum Kind: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case nginx, apache2, lighttpd, python3
        /// An HTTP proxy.
        case tinyproxy
        /// A SOCKS proxy, which requires the user name `user` and the password `secret`.
        case microsocks

        static let proxies: Set<Self> = [.tinyproxy, .microsocks]

        var testDescription: String { rawValue }

        /// Whether the server supports ranges; Python's server always sends the whole file.
        var servesRanges: Bool { self != .python3 }

        /// The URL of the executable; nil if the server isn't installed.
        var executable: URL? {
            let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
            let folders = path.split(separator: ":").map(String.init) + ["/usr/sbin"]
            return folders.map { URL(fileURLWithPath: "\($0)/\(rawValue)") }
                .first { FileManager.default.isExecutableFile(atPath: $0.path) }
        }

        /// The servers that are installed; prints a message for each of the others.
        static let installed = allCases.filter { !proxies.contains($0) && $0.isInstalled }

        /// Whether the program is installed; prints a message if it isn't.
        var isInstalled: Bool {
            if executable == nil { print("the tests of \(rawValue) are skipped: it is not installed") }
            return executable != nil
        }
    }

    let port: Int
    private let process = Process()
    /// A bound socket that keeps the system from giving the port to the server of another test.
    private let reservation: Int32?

    /// Starts a server for the files in `folder`, with its own files in `home`.
    ///
    /// Servers that can be throttled send about 60 MB per second.
    init(_ kind: Kind, serving folder: URL, home: URL) throws {
        let descriptor: Int32
        (descriptor, port) = try Self.freePort()
        reservation = portsCanBeReserved ? descriptor : nil
        if reservation == nil { close(descriptor) }
        let executable: URL = try #require(kind.executable)
        process.executableURL = executable
        process.arguments = try Self.arguments(kind, port: port, folder: folder, home: home)
        process.currentDirectoryURL = folder
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try ProcessStart.alone { [process] in try process.run() }
    }

    deinit {
        if let reservation { close(reservation) }
    }

    /// Kills the server and its child processes.
    ///
    /// A process inherits the blocked signals of the thread that starts it, and Dispatch's threads block all signals
    /// that can be blocked, so only SIGKILL is certain to arrive. Foundation starts a process in a new process group.
    func stop() {
        let identifier = process.processIdentifier
        if kill(-identifier, SIGKILL) != 0 { kill(identifier, SIGKILL) }
    }

    /// Returns the URL of a file as soon as the server listens.
    func url(_ name: String) async throws -> URL {
        while !isListening {
            try #require(process.isRunning, "the server has ended")
            await Task.yield()
        }
        return try #require(URL(string: "http://127.0.0.1:\(port)/\(name)"))
    }

    /// Waits until the server listens.
    func start() async throws { _ = try await url("") }

    private var isListening: Bool {
        guard let (descriptor, address) = try? Self.socket(port: port) else { return false }
        defer { close(descriptor) }
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    /// Returns a port that is currently free, and a socket that is bound to it.
    private static func freePort() throws -> (descriptor: Int32, port: Int) {
        var (descriptor, address) = try socket(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        var isOn: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 ? getsockname(descriptor, address, &length) : -1
            }
        }
        try #require(result == 0)
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }

    private static func socket(port: Int) throws -> (Int32, sockaddr_in) {
        let descriptor = makeStreamSocket()
        try #require(descriptor >= 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return (descriptor, address)
    }
}

extension ForeignServer {
    private static func arguments(_ kind: Kind, port: Int, folder: URL, home: URL) throws -> [String] {
        let file = home.appending(path: "\(kind.rawValue).conf")
        switch kind {
        case .nginx:
            try configuration(nginx(port, folder.path, home.path), file)
            return ["-e", "stderr", "-p", home.path, "-c", file.path]
        case .apache2:
            try configuration(apache(port, folder.path, home.path), file)
            return ["-D", "FOREGROUND", "-f", file.path]
        case .lighttpd:
            try configuration(lighttpd(port, folder.path), file)
            return ["-D", "-f", file.path]
        case .python3:
            return ["-m", "http.server", "--bind", "127.0.0.1", "\(port)"]
        case .tinyproxy:
            // Without a list of ports, tunnels to all ports are permitted.
            try configuration("Port \(port)\nListen 127.0.0.1\nTimeout 600\nLogLevel Critical\n", file)
            return ["-d", "-c", file.path]
        case .microsocks:
            return ["-i", "127.0.0.1", "-p", "\(port)", "-u", "user", "-P", "secret"]
        }
    }

    private static func configuration(_ text: String, _ file: URL) throws {
        try Data(text.utf8).write(to: file)
    }

    private static func nginx(_ port: Int, _ folder: String, _ home: String) -> String {
        """
        daemon off; master_process off; pid \(home)/nginx.pid; error_log stderr;
        events { worker_connections 64; }
        http {
            access_log off; client_body_temp_path \(home)/body; proxy_temp_path \(home)/proxy;
            fastcgi_temp_path \(home)/fastcgi; uwsgi_temp_path \(home)/uwsgi; scgi_temp_path \(home)/scgi;
            server { listen 127.0.0.1:\(port); root \(folder); limit_rate 60m; }
        }
        """
    }

    private static func apache(_ port: Int, _ folder: String, _ home: String) -> String {
        """
        ServerRoot "\(home)"
        PidFile "\(home)/apache.pid"
        Listen 127.0.0.1:\(port)
        ServerName 127.0.0.1
        LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
        LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
        LoadModule env_module /usr/lib/apache2/modules/mod_env.so
        LoadModule ratelimit_module /usr/lib/apache2/modules/mod_ratelimit.so
        Mutex sem
        ErrorLog /dev/null
        DocumentRoot "\(folder)"
        <Location "/">
            SetOutputFilter RATE_LIMIT
            SetEnv rate-limit 60000
        </Location>
        """
    }

    private static func lighttpd(_ port: Int, _ folder: String) -> String {
        """
        server.document-root = "\(folder)"
        server.bind = "127.0.0.1"
        server.port = \(port)
        mimetype.assign = ("" => "application/octet-stream")
        connection.kbytes-per-second = 60000
        """
    }
}
