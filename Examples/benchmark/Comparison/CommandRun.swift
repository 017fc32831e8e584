internal import AsyncDownloads
internal import Foundation

/// The costs of one run of a command in a separate process.
struct CommandRun: Sendable, Hashable, Codable {
    let wallSeconds: Double
    let processorSeconds: Double
    /// The peak of the resident memory, which is sampled every ten milliseconds; nil if it is not known.
    var peakBytes: Int64?

    struct Failure: Error, CustomStringConvertible {
        let command: [String]
        let status: Int32
        /// What the command has written about the reason, if that is known.
        var reason = ""

        var description: String {
            "\(command.prefix(2).joined(separator: " ")) exited with status \(status)"
                + (reason.isEmpty ? "" : ": \(reason)")
        }
    }

    /// Runs a command and measures it; no other child process may end meanwhile.
    ///
    /// - Parameter directory: The directory for the temporary files of the command.
    static func measure(_ command: [String], in directory: TemporaryDirectory) async throws -> Self {
        let (clock, before) = (ContinuousClock(), childSeconds())
        let start = clock.now
        let peakBytes = try await run(
            command, output: FileHandle.nullDevice, environment: ["TMPDIR": directory.url.path])
        let wall = (clock.now - start) / .seconds(1)
        return Self(wallSeconds: wall, processorSeconds: childSeconds() - before, peakBytes: peakBytes)
    }

    /// Returns what a command prints, at most as much as a pipe holds.
    static func output(of command: [String]) async throws -> String {
        let pipe = Pipe()
        try await run(command, output: pipe)
        return String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
    }

    /// Returns what a command writes to standard error, at most as much as a pipe holds.
    static func errorOutput(of command: [String]) async throws -> String {
        let pipe = Pipe()
        try await run(command, output: FileHandle.nullDevice, errors: pipe)
        return String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
    }

    /// Runs a command, and returns its exit status; nil if it was ended because it ran longer than the limit.
    ///
    /// - Parameter directory: The directory for the temporary files of the command.
    static func status(
        of command: [String], in directory: TemporaryDirectory, limit: Duration
    ) async throws -> Int32? {
        let (process, ends) = try start(
            command, output: FileHandle.nullDevice, errors: FileHandle.nullDevice,
            environment: ["TMPDIR": directory.url.path])
        let timer = Task { [identifier = process.processIdentifier] in
            try await Task.sleep(for: limit)
            // Children inherit blocked signals, and Dispatch's threads block all others.
            kill(identifier, SIGKILL)
        }
        var status: Int32?
        for await end in ends { status = end }
        timer.cancel()
        if case .success = await timer.result { return nil }
        return status
    }

    /// Runs a command, and returns the peak of its memory.
    @discardableResult
    private static func run(
        _ command: [String], output: Any, errors: Any = FileHandle.nullDevice, environment: [String: String] = [:]
    ) async throws -> Int64? {
        let (process, ends) = try start(command, output: output, errors: errors, environment: environment)
        let sampler = Task { [identifier = process.processIdentifier] in
            var peak: Int64?
            while !Task.isCancelled {
                if let bytes = Machine.peakBytes(of: identifier) { peak = max(bytes, peak ?? 0) }
                try? await Task.sleep(for: .milliseconds(10))
            }
            return peak
        }
        defer { sampler.cancel() }
        for await status in ends where status != 0 { throw Failure(command: command, status: status) }
        sampler.cancel()
        return await sampler.value
    }

    /// Starts a command; the stream yields its exit status, or -1 if a signal ended it.
    private static func start(
        _ command: [String], output: Any, errors: Any, environment: [String: String]
    ) throws -> (process: Process, ends: AsyncStream<Int32>) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command.dropFirst())
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        let (ends, continuation) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { process in
            continuation.yield(process.terminationReason == .exit ? process.terminationStatus : -1)
            continuation.finish()
        }
        try process.run()
        return (process, ends)
    }

    /// The processor time of all children that have ended.
    private static func childSeconds() -> Double {
        var usage = rusage()
        getrusage(children, &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1_000_000 }
    }
}
