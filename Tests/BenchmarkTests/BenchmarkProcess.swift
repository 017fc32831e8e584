internal import Foundation
internal import TestSupport
internal import Testing

@testable import benchmark

/// A run of one subcommand in a separate process, where no other code opens descriptors or starts threads.
struct BenchmarkProcess<Report: Decodable> {
    let status: Int32
    let report: Report

    init(_ subcommand: String, _ arguments: [String]) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "BenchmarkTests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        // Output goes to a file, because a full pipe would block the process.
        let output = directory.appending(path: "output")
        try Data().write(to: output)
        let process = Process()
        process.executableURL = try Self.executable
        process.arguments = [subcommand, "--json"] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": directory.path]) { $1 }
        process.standardInput = FileHandle.nullDevice
        let outputHandle = try FileHandle(forWritingTo: output)
        // Foundation keeps a process, and with it its handles, after the process has ended.
        defer { try? outputHandle.close() }
        process.standardOutput = outputHandle
        let errorOutput = directory.appending(path: "errors")
        try Data().write(to: errorOutput)
        let errorHandle = try FileHandle(forWritingTo: errorOutput)
        defer { try? errorHandle.close() }
        process.standardError = errorHandle
        let (exit, continuation) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { process in
            // The status of a killed process is the signal's number, which must not be taken for an exit status.
            continuation.yield(process.terminationReason == .exit ? process.terminationStatus : -1)
            continuation.finish()
        }
        try ProcessStart.alone { try process.run() }
        var status: Int32?
        for await value in exit { status = value }
        self.status = try #require(status)
        let left = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            .filter { !["output", "errors"].contains($0) }
        let errors = left.compactMap { name in
            try? String(contentsOf: directory.appending(path: name + "/standard-error"), encoding: .utf8).prefix(500)
        }
        try #require(left.isEmpty, "the run ended with \(self.status), left its directory, and wrote \(errors)")
        let messages = try String(contentsOf: errorOutput, encoding: .utf8).suffix(1000)
        try #require(status == 0, "the run ended with \(self.status), and wrote \(messages)")
        report = try JSONDecoder().decode(Report.self, from: Data(contentsOf: output))
    }

    /// The URL of the executable, which is in the same directory as the test bundle.
    private static var executable: URL {
        get throws {
            let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
            let tests = bundle ?? URL(fileURLWithPath: CommandLine.arguments[0])
            let executable = tests.deletingLastPathComponent().appending(path: "benchmark")
            try #require(
                FileManager.default.isExecutableFile(atPath: executable.path), "\(executable.path) is not executable")
            return executable
        }
    }
}
