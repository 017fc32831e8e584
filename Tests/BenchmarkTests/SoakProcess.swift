internal import Foundation
internal import Testing

@testable import benchmark

/// A soak in a process of its own, where nothing else opens descriptors or starts threads.
struct SoakProcess {
    let status: Int32
    let report: SoakReport

    init(_ arguments: [String]) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "BenchmarkTests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        // A file, since what nobody reads from a pipe would stop the process.
        let output = directory.appending(path: "output")
        try Data().write(to: output)
        let process = Process()
        process.executableURL = try Self.executable
        process.arguments = ["soak", "--json"] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": directory.path]) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = FileHandle.nullDevice
        let (exit, continuation) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { process in
            // A process that a signal has killed must not look like one that has exited with the signal's number.
            continuation.yield(process.terminationReason == .exit ? process.terminationStatus : -1)
            continuation.finish()
        }
        try process.run()
        var status: Int32?
        for await value in exit { status = value }
        self.status = try #require(status)
        let left = try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0 != "output" }
        let said = left.compactMap { name in
            try? String(contentsOf: directory.appending(path: name + "/standard-error"), encoding: .utf8).prefix(500)
        }
        try #require(left.isEmpty, "the run ended with \(self.status), left its directory, and said \(said)")
        report = try JSONDecoder().decode(SoakReport.self, from: Data(contentsOf: output))
    }

    /// The executable beside the tests.
    private static var executable: URL {
        get throws {
            let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
            let tests = bundle ?? URL(fileURLWithPath: CommandLine.arguments[0])
            let executable = tests.deletingLastPathComponent().appending(path: "benchmark")
            try #require(FileManager.default.isExecutableFile(atPath: executable.path), "no \(executable.path)")
            return executable
        }
    }
}
