#if ServerStack
internal import ArgumentParser
internal import Foundation

/// A workload that all programs do.
enum Workload: String, CaseIterable, Sendable, Codable, ExpressibleByArgument {
    /// One large file over one connection.
    case large
    /// Many files of 4 KiB, 16 at a time.
    case small
    /// One large file from a server that limits each connection to 20 MiB/s, over 16 connections.
    case limited

    static let jobs = 16

    /// The description in the report.
    func title(_ size: WorkloadSize) -> String {
        switch self {
        case .large: "\(size.mebibytes) MiB over one connection"
        case .small: "\(size.files) files of 4 KiB, \(Self.jobs) at a time"
        case .limited: "\(size.limitedMebibytes) MiB, 20 MiB/s for each of 16 connections"
        }
    }

    /// Returns the files of the workload, placed in a directory.
    func transfers(_ size: WorkloadSize, from server: ServedFiles, to directory: TemporaryDirectory) -> [FileTransfer] {
        switch self {
        case .large: [FileTransfer(url: server.url("large"), path: directory.file("large").path)]
        case .limited: [FileTransfer(url: server.url("limited"), path: directory.file("limited").path)]
        case .small:
            (0..<size.files).map { number in
                FileTransfer(url: server.url("small/\(number)"), path: directory.file("\(number)").path)
            }
        }
    }

    /// The programs that do the workload, where the first one after the library is the reference of the ratios.
    var programs: [Program] {
        switch self {
        case .large: [.library, .curl, .bare, .wget2]
        case .small: [.library, .curl, .bare, .wget2, .aria2c]
        case .limited: [.library, .aria2c]
        }
    }
}

/// The sizes of the workloads.
struct WorkloadSize: Sendable, Codable {
    let files: Int
    let mebibytes: Int

    /// The length of the file of ``Workload/limited``, which takes about ten seconds over one connection.
    var limitedMebibytes: Int { min(mebibytes, 200) }
}

/// A program that downloads files.
enum Program: String, Sendable, Codable {
    case library = "async-downloads"
    case bare
    case curl, wget2, aria2c

    /// Returns the command that does a workload; nil if the program is not installed.
    func command(
        _ workload: Workload, _ transfers: [FileTransfer], in directory: TemporaryDirectory
    ) throws -> [String]? {
        guard let executable else { return nil }
        let list = directory.file("list.txt")
        func write(_ lines: [String]) throws {
            try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: list)
        }
        switch self {
        case .library, .bare:
            try write(transfers.map(\.line))
            let connections = workload == .limited ? ["--connections", "16"] : []
            return [executable, "fetch", list.path, "--jobs", "\(Workload.jobs)"] + connections
                + (self == .bare ? ["--bare"] : [])
        case .curl:
            try write(transfers.map { "url = \"\($0.url.absoluteString)\"\noutput = \"\($0.path)\"" })
            return [
                executable, "--silent", "--fail", "--parallel", "--parallel-max", "\(Workload.jobs)", "--config",
                list.path,
            ]
        case .wget2:
            try write(transfers.map(\.url.absoluteString))
            return [
                executable, "--quiet", "--no-config", "--no-local-db", "--max-threads=\(Workload.jobs)",
                "--input-file=\(list.path)",
                "--directory-prefix=\(directory.url.path)",
            ]
        case .aria2c:
            try write(transfers.map(\.url.absoluteString))
            let segments = workload == .limited ? ["-x16", "-s16", "-k1M"] : ["-x1"]
            return [
                executable, "--quiet", "--file-allocation=none", "-j\(Workload.jobs)", "-i", list.path,
                "-d", directory.url.path,
            ] + segments
        }
    }

    private var executable: String? {
        switch self {
        case .library, .bare: Bundle.main.executablePath
        case .curl, .wget2, .aria2c: Self.path(of: rawValue)
        }
    }

    /// Returns the path of an installed command.
    static func path(of command: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let directories = path.split(separator: ":").map(String.init) + ["/usr/sbin"]
        return directories.map { "\($0)/\(command)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The name and the version that the program prints; nil if it is not installed.
    func version() async throws -> String? {
        guard let executable, self != .library, self != .bare else { return nil }
        let output = try await CommandRun.output(of: [executable, "--version"])
        // Further words name libraries, or describe the program.
        let line = output.split(separator: "\n").first ?? ""
        return line.split(separator: " ", omittingEmptySubsequences: true).prefix { $0 != "-" && $0.first != "(" }
            .joined(separator: " ")
    }
}
#endif
