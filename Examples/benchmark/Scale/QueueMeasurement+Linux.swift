#if !canImport(Darwin)
internal import Foundation

extension QueueMeasurement {
    /// The failure of the measuring process, whose error messages are on standard error.
    struct Failure: Error, CustomStringConvertible {
        let status: Int32

        var description: String { "the measuring process exited with status \(status)" }
    }

    /// Measures in a new process of this executable, which can't reuse memory that an earlier measurement has released.
    static func measureSeparately(_ count: Int, _ engine: Engine) async throws -> Self {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["scale", "--single", "\(count)", "--engine", engine.rawValue]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw Failure(status: process.terminationStatus)
        }
        return try JSONDecoder().decode(Self.self, from: data)
    }
}
#endif
