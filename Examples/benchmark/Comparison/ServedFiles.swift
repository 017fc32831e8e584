internal import Crypto
internal import Foundation
internal import LoopbackServer

/// The local servers of the files of all workloads.
struct ServedFiles: Sendable {
    /// The server program, with its version if it is not the package's own.
    let program: String
    /// The large file on disk; nil if the server generates it.
    let largeFile: URL?
    /// The SHA-256 digest of the large file in hexadecimal digits.
    let largeDigest: String
    /// The file with the root certificate of the server with TLS.
    let rootFile: URL
    private let plain: URL
    private let secure: URL
    private let delayed: URL
    private let counted: URL
    /// The port of the server that has many addresses; nil if there is none.
    private var originPort: Int?

    /// Runs `body` with servers, which are nginx if it is installed, and the package's own for delayed responses and
    /// for limited requests.
    static func withServer<Value: Sendable>(
        _ size: WorkloadSize, in root: TemporaryDirectory, _ body: (ServedFiles) async throws -> Value
    ) async throws -> Value {
        let rootFile = root.file("root.pem")
        try Data(Certificate.root.utf8).write(to: rootFile)
        var hash = SHA256()
        try large(size).forEachPart { hash.update(data: $0) }
        let digest = hash.finalize().map { String(format: "%02x", $0) }.joined()
        return try await LoopbackServer.withServer(keepsRequests: false) { delayed in
            var resource = Resource(small, entityTag: "\"small\"", script: [[.delayHead(delay)]])
            resource.repeatsLastStep = true
            delayed.serve(resource, at: "delayed")
            var counted = Resource(small, entityTag: "\"small\"")
            counted.requestLimit = .init(count: size.requestCount, period: .seconds(size.requestSeconds))
            delayed.serve(counted, at: "counted")
            guard let executable = Program.path(of: "nginx") else {
                return try await withLoopbackServers(size) { plain, secure in
                    try await body(
                        ServedFiles(
                            program: "the package's own server", largeFile: nil, largeDigest: digest,
                            rootFile: rootFile, plain: plain, secure: secure, delayed: delayed.url("delayed"),
                            counted: delayed.url("counted")))
                }
            }
            return try await NginxServer.withServer(executable, files(size), in: root) { server in
                try await body(
                    ServedFiles(
                        program: server.version, largeFile: server.file("large"), largeDigest: digest,
                        rootFile: rootFile, plain: server.plain, secure: server.secure,
                        delayed: delayed.url("delayed"), counted: delayed.url("counted"),
                        originPort: Machine.hasLoopbackNetwork ? server.originPort : nil))
            }
        }
    }

    /// Returns the files of a workload, placed in a directory; none if the servers can't serve them.
    func transfers(_ workload: Workload, _ size: WorkloadSize, to directory: TemporaryDirectory) -> [FileTransfer] {
        let base = workload.isSecure ? secure : plain
        func one(_ name: String) -> [FileTransfer] {
            [FileTransfer(url: base.appending(path: name), path: directory.file(name).path)]
        }
        func many(_ count: Int, _ url: URL) -> [FileTransfer] {
            (0..<count).map { number in
                FileTransfer(
                    url: url.appending(queryItems: [URLQueryItem(name: "n", value: "\(number)")]),
                    path: directory.file("\(number)").path)
            }
        }
        return switch workload {
        case .large, .largeTLS, .sha256, .connections, .subscribers, .unreadEvents: one("large")
        case .slow: one("slow")
        case .rateLimit: one("limited")
        case .small, .smallPowerLoss, .smallTLS:
            (0..<size.files).map { number in
                FileTransfer(url: base.appending(path: "small/\(number)"), path: directory.file("\(number)").path)
            }
        case .connectionsTLS: many(WorkloadSize.connections, base.appending(path: "medium"))
        case .origins: origins(size, directory)
        case .latency: many(size.delayedFiles, delayed)
        case .requestLimit: many(size.requestedFiles, counted)
        }
    }

    /// Returns the files of many addresses of the loopback network, in an order in which no two of one address are neighbors.
    private func origins(_ size: WorkloadSize, _ directory: TemporaryDirectory) -> [FileTransfer] {
        guard let originPort else { return [] }
        return (0..<size.origins * WorkloadSize.filesPerOrigin).compactMap { number in
            let origin = number % size.origins
            let url = URL(string: "http://127.1.\(origin / 250).\(origin % 250 + 1):\(originPort)/\(number)")
            return url.map { FileTransfer(url: $0, path: directory.file("\(number)").path) }
        }
    }

    private static let small = Content(seed: 2, length: Int64(WorkloadSize.smallLength))
    private static let delay = Duration.milliseconds(WorkloadSize.delay)

    private static func large(_ size: WorkloadSize) -> Content {
        Content(seed: 1, length: Int64(size.mebibytes) << 20)
    }

    private static func files(_ size: WorkloadSize) -> [String: Content] {
        [
            "large": large(size), "slow": Content(seed: 3, length: Int64(size.slowMebibytes) << 20),
            "limited": Content(seed: 4, length: Int64(size.limitedMebibytes) << 20), "small": small,
            "medium": Content(seed: 6, length: Int64(size.mediumMebibytes) << 20),
        ]
    }

    private static func withLoopbackServers<Value: Sendable>(
        _ size: WorkloadSize, _ body: (_ plain: URL, _ secure: URL) async throws -> Value
    ) async throws -> Value {
        try await LoopbackServer.withServer(keepsRequests: false) { plain in
            try await LoopbackServer.withServer(isSecure: true, keepsRequests: false) { secure in
                for server in [plain, secure] { serve(size, on: server) }
                return try await body(plain.url(""), secure.url(""))
            }
        }
    }

    private static func serve(_ size: WorkloadSize, on server: LoopbackServer) {
        for (name, content) in files(size) where name != "small" {
            var resource = Resource(content, entityTag: "\"\(name)\"")
            if name == "slow" {
                resource.script = [[.throttle(bytesPerSecond: WorkloadSize.limit << 20)]]
                resource.repeatsLastStep = true
            }
            server.serve(resource, at: name)
        }
        for number in 0..<size.files {
            server.serve(Resource(small, entityTag: "\"small\""), at: "small/\(number)")
        }
    }
}

extension Content {
    /// Calls `body` with the bytes in order, in parts of up to 4 MiB.
    func forEachPart(_ body: (Data) throws -> Void) throws {
        for start in stride(from: 0, to: length, by: 4 << 20) {
            try body(Data(bytes(in: start..<min(length, start + 4 << 20))))
        }
    }
}
