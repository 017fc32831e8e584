internal import Foundation

extension Program {
    /// Returns the command that does a workload; nil if the program is not installed or the server cannot serve it.
    ///
    /// - Parameters:
    ///   - transfers: The files, all in `directory`.
    ///   - directory: The directory of the run, in which lists may be created.
    func command(
        _ workload: Workload, _ transfers: [FileTransfer], from server: ServedFiles, in directory: TemporaryDirectory
    ) throws -> [String]? {
        guard let command = try plainCommand(workload, transfers, from: server, in: directory) else { return nil }
        guard let descriptors = workload.descriptors else { return command }
        return ["/bin/sh", "-c", "ulimit -n \(descriptors) && exec \"$0\" \"$@\""] + command
    }

    private func plainCommand(
        _ workload: Workload, _ transfers: [FileTransfer], from server: ServedFiles, in directory: TemporaryDirectory
    ) throws -> [String]? {
        guard let executable, !transfers.isEmpty else { return nil }
        let list = directory.file("list.txt")
        func write(_ lines: [String]) throws {
            try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: list)
        }
        let rootFile = workload.isSecure ? server.rootFile.path : nil
        switch self {
        case .exactRate, .curlRetry, .wget:
            return nil
        case .library, .bare, .otherEngine, .withoutChecksum, .oneConnection, .automaticNumber, .oneHandle,
            .processCrash:
            try write(transfers.map(\.line))
            return [executable, "fetch", list.path]
                + fetchOptions(workload, rootFile: rootFile, sha256: server.largeDigest).arguments
        case .curl:
            try write(transfers.map { "url = \"\($0.url.absoluteString)\"\noutput = \"\($0.path)\"" })
            let limit =
                switch workload {
                case .rateLimit: ["--limit-rate", "\(WorkloadSize.limit << 20)"]
                // A transient error such as 429 is retried after the time in Retry-After.
                case .requestLimit: ["--retry", "1000"]
                default: [] as [String]
                }
            return [
                executable, "--disable", "--silent", "--fail", "--parallel", "--parallel-max", "\(workload.jobs)",
                "--config",
                list.path,
            ] + limit + (rootFile.map { ["--cacert", $0] } ?? [])
        case .wget2:
            try write(transfers.map(\.url.absoluteString))
            return [
                executable, "--quiet", "--no-config", "--no-local-db", "--max-threads=\(WorkloadSize.jobs)",
                "--input-file=\(list.path)", "--directory-prefix=\(directory.url.path)",
            ] + (rootFile.map { ["--ca-certificate=\($0)"] } ?? [])
        case .aria2c:
            try write(transfers.map(\.url.absoluteString))
            let segments = workload == .slow ? ["-x16", "-s16", "-k1M"] : ["-x1"]
            return [
                executable, "--no-conf", "--quiet", "--file-allocation=none", "-j\(WorkloadSize.jobs)",
                "-i", list.path, "-d", directory.url.path,
            ] + segments
        case .openssl:
            return server.largeFile.map { [executable, "dgst", "-sha256", $0.path] }
        }
    }

    /// Whether the program creates the files of the workload.
    var downloads: Bool { self != .openssl }

    /// Returns the options with which this package's own executable does a workload.
    func fetchOptions(_ workload: Workload, rootFile: String?, sha256: String) -> FetchOptions {
        if workload == .latency { return FetchOptions(durability: self == .processCrash ? .processCrash : nil) }
        var options = FetchOptions(
            jobs: workload.jobs, durability: .processCrash, rootFile: rootFile, isBare: self == .bare,
            engine: self == .otherEngine ? Engine(rawValue: "http-client") : nil)
        // The variants of the library omit the options that the workload adds.
        guard self == .library || self == .otherEngine else { return options }
        switch workload {
        case .sha256: options.sha256 = sha256
        case .slow: options.connections = 16
        case .connections: options.connections = Workload.connectionCount
        case .smallPowerLoss: options.durability = .powerLoss
        case .rateLimit: options.limitRate = Int64(WorkloadSize.limit) << 20
        case .subscribers: options.subscribers = 100
        case .unreadEvents: options.hasUnreadHandle = true
        case .large, .largeTLS, .small, .smallTLS, .origins, .connectionsTLS, .latency, .requestLimit: break
        }
        return options
    }
}
