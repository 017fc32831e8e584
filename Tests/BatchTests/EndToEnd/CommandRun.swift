internal import Foundation
internal import TestSupport
internal import Testing

/// A run of a built executable in a separate process.
final class CommandRun: Sendable {
    /// The members of a `failed` event.
    struct Failure {
        let code: String?
        let kept: Int64?
        let isRetryable: Bool?
    }

    /// The exit status and the output of a run that has ended.
    struct End {
        let status: Int32
        let output: String
        let error: String

        /// Returns the lines of standard output as JSON objects; throws if a line isn't one.
        func events() throws -> [[String: Any]] {
            try output.split(separator: "\n").map { line in
                try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            }
        }

        /// Returns the first `failed` event.
        func failure() throws -> Failure {
            let failed = try #require(try events().first { $0["event"] as? String == "failed" }, "\(output)\(error)")
            return Failure(
                code: failed["code"] as? String, kept: failed["kept"] as? Int64,
                isRetryable: failed["retryable"] as? Bool)
        }

        /// Returns the number of body bytes that the summary reports as received from the network.
        func fetched() throws -> Int64? { try events().last?["fetched"] as? Int64 }
    }

    /// The lines of standard output as they arrive, for one consumer.
    let lines: AsyncStream<String>
    /// The lines of standard error as they arrive, for one consumer.
    let errorLines: AsyncStream<String>

    private let process = Process()
    private let exit: AsyncStream<Int32>
    private let output: Task<[UInt8], Never>
    private let error: Task<[UInt8], Never>

    /// Starts the executable.
    ///
    /// A run of `batch` with downloads gets a long `--timeout` unless the arguments contain one, because a test server on a busy
    /// machine may be silent for longer than a user would wait.
    ///
    /// - Parameters:
    ///   - arguments: The arguments of the command.
    ///   - command: The name of the executable.
    ///   - folder: The working directory, which is also the directory for temporary files.
    ///   - input: The standard input, which must fit the buffer of a pipe.
    ///   - output: The file for standard output, instead of ``lines`` and ``End/output``.
    ///   - environment: Variables in addition to this process's variables, except the ones that name proxies or roots.
    ///   - limit: The arguments for the shell's `ulimit`, if the process has to have a resource limit.
    init(
        _ arguments: [String], of command: String = "batch", in folder: Folder, input: String = "",
        output: FileHandle? = nil, environment: [String: String] = [:], limit: String? = nil
    ) throws {
        let downloads =
            command == "batch" && arguments.first != "split"
            && arguments.contains { $0.hasPrefix("http:") || $0 == "-i" || $0 == "units" }
        let arguments = arguments + (downloads && !arguments.contains("--timeout") ? ["--timeout", "900"] : [])
        let executable = try Self.executable(command)
        process.executableURL = executable
        process.arguments = arguments
        if let limit {
            process.executableURL = URL(filePath: "/bin/sh")
            let script = "ulimit \(limit) && exec \"$0\" \"$@\""
            process.arguments = ["-c", script, executable.path] + arguments
        }
        process.currentDirectoryURL = folder.url
        process.environment = ProcessInfo.processInfo.environment
            .filter { !$0.key.lowercased().hasSuffix("_proxy") && $0.key != "SSL_CERT_FILE" }
            .merging(["TMPDIR": folder.url.path]) { $1 }.merging(environment) { $1 }
        let (exit, continuation) = AsyncStream.makeStream(of: Int32.self)
        self.exit = exit
        process.terminationHandler = { process in
            // The status of a killed process is the signal's number, which must not be taken for an exit status.
            continuation.yield(process.terminationReason == .exit ? process.terminationStatus : -1)
            continuation.finish()
        }
        let (lines, lineContinuation) = AsyncStream.makeStream(of: String.self)
        self.lines = lines
        let (errorLines, errorContinuation) = AsyncStream.makeStream(of: String.self)
        self.errorLines = errorLines
        let (outputPipe, errorPipe) = try ProcessStart.alone { [process] in
            let (inputPipe, outputPipe, errorPipe) = (Pipe(), Pipe(), Pipe())
            process.standardInput = inputPipe.fileHandleForReading
            process.standardOutput = output ?? outputPipe
            process.standardError = errorPipe
            // The text fits into the pipe's buffer; a pause before its end would be a reason to start what was read so
            // far.
            try inputPipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            try inputPipe.fileHandleForWriting.close()
            try process.run()
            if output != nil { try outputPipe.fileHandleForWriting.close() }
            return (outputPipe, errorPipe)
        }
        self.output = Self.read(outputPipe, lineContinuation)
        self.error = Self.read(errorPipe, errorContinuation)
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// Waits for an event on standard output that satisfies the condition; returns false if the run ends without one.
    ///
    /// The lines up to this event are consumed from ``lines``.
    @discardableResult
    func printed(_ isMatch: ([String: Any]) -> Bool) async -> Bool {
        for await line in lines {
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            if let object, isMatch(object) { return true }
        }
        return false
    }

    /// Sends a signal to the process.
    func signal(_ number: Int32) {
        kill(process.processIdentifier, number)
    }

    /// Waits until the process has ended, and returns its status and output; must be called only once.
    func end() async throws -> End {
        var status: Int32?
        for await value in exit { status = value }
        return End(
            status: try #require(status), output: String(decoding: await output.value, as: UTF8.self),
            error: String(decoding: await error.value, as: UTF8.self))
    }

    /// Collects the bytes of a pipe until its end, on a separate thread because reading blocks.
    private static func read(
        _ pipe: Pipe, _ lines: AsyncStream<String>.Continuation? = nil
    ) -> Task<[UInt8], Never> {
        let (chunks, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        Thread.detachNewThread {
            while true {
                let chunk = pipe.fileHandleForReading.availableData
                if chunk.isEmpty { break }
                continuation.yield(Array(chunk))
            }
            // Foundation keeps a process, and with it its pipes, after the process has ended.
            try? pipe.fileHandleForReading.close()
            continuation.finish()
        }
        return Task {
            var (bytes, lineStart) = ([UInt8](), 0)
            for await chunk in chunks {
                bytes += chunk
                while let end = bytes[lineStart...].firstIndex(of: UInt8(ascii: "\n")) {
                    lines?.yield(String(decoding: bytes[lineStart..<end], as: UTF8.self))
                    lineStart = end + 1
                }
            }
            lines?.finish()
            return bytes
        }
    }

    /// Returns the URL of an executable, which is in the same directory as the test bundle.
    private static func executable(_ name: String) throws -> URL {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        let tests = bundle ?? URL(fileURLWithPath: CommandLine.arguments[0])
        let executable = tests.deletingLastPathComponent().appending(path: name)
        try #require(
            FileManager.default.isExecutableFile(atPath: executable.path), "\(executable.path) is not executable")
        return executable
    }
}
