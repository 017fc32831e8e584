#if ServerStack
internal import Foundation

/// Runs this executable again, so that a measurement doesn't find the memory that an earlier one has released.
enum Subprocess {
    /// The failure of a subprocess, whose error messages are on standard error.
    struct Failure: Error, CustomStringConvertible {
        let arguments: [String]
        let status: Int32

        var description: String { "\(arguments.joined(separator: " ")) exited with status \(status)" }
    }

    /// Runs the executable with these arguments, and returns what it wrote to standard output.
    static func output(of arguments: [String]) throws -> Data {
        let process = Process()
        process.executableURL = Bundle.main.executableURL
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw Failure(arguments: arguments, status: process.terminationStatus)
        }
        return data
    }
}
#endif
