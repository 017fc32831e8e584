internal import Foundation
internal import Testing

/// The built executable, running as a process of its own.
final class CommandRun: Sendable {
    /// How a download failed.
    struct Failure {
        let code: String?
        let kept: Int64?
        let isRetryable: Bool?
    }

    /// What a run that has ended leaves.
    struct End {
        let status: Int32
        let output: String
        let error: String

        /// The lines of standard output, each read as a JSON object; throws where one is none.
        func events() throws -> [[String: Any]] {
            try output.split(separator: "\n").map { line in
                try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            }
        }

        /// What it told of the first download that failed.
        func failure() throws -> Failure {
            let failed = try #require(try events().first { $0["event"] as? String == "failed" }, "\(output)\(error)")
            return Failure(
                code: failed["code"] as? String, kept: failed["kept"] as? Int64,
                isRetryable: failed["retryable"] as? Bool)
        }

        /// How many bytes of bodies it says to have received.
        func fetched() throws -> Int64? { try events().last?["fetched"] as? Int64 }
    }

    /// The lines of standard output as they come, for one consumer.
    let lines: AsyncStream<String>

    private let process = Process()
    private let exit: AsyncStream<Int32>
    private let output: Task<[UInt8], Never>
    private let error: Task<[UInt8], Never>

    /// Starts it.
    ///
    /// What downloads gets a long `--timeout` unless one is given: on a busy machine a server of the tests may be silent
    /// for longer than a user would wait.
    ///
    /// - Parameters:
    ///   - folder: Where it runs, and where its temporary files go.
    ///   - input: What standard input has; no more than a pipe holds.
    ///   - output: Where standard output goes, instead of into ``lines`` and ``End/output``.
    ///   - limit: What the shell's `ulimit` is told before.
    init(
        _ arguments: [String], in folder: Folder, input: String = "", output: FileHandle? = nil, limit: String? = nil
    ) throws {
        let (inputPipe, outputPipe, errorPipe) = (Pipe(), Pipe(), Pipe())
        let downloads = arguments.contains { $0.hasPrefix("http:") || $0 == "-i" }
        let arguments = arguments + (downloads && !arguments.contains("--timeout") ? ["--timeout", "900"] : [])
        process.executableURL = try Self.executable
        process.arguments = arguments
        if let limit {
            process.executableURL = URL(filePath: "/bin/sh")
            let script = "ulimit \(limit) && exec \"$0\" \"$@\""
            process.arguments = ["-c", script, try Self.executable.path] + arguments
        }
        process.currentDirectoryURL = folder.url
        process.environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": folder.url.path]) { $1 }
        process.standardInput = inputPipe
        process.standardOutput = output ?? outputPipe
        process.standardError = errorPipe
        let (exit, continuation) = AsyncStream.makeStream(of: Int32.self)
        self.exit = exit
        process.terminationHandler = { process in
            // A process that a signal has killed must not look like one that has exited with the signal's number.
            continuation.yield(process.terminationReason == .exit ? process.terminationStatus : -1)
            continuation.finish()
        }
        let (lines, lineContinuation) = AsyncStream.makeStream(of: String.self)
        self.lines = lines
        try process.run()
        try inputPipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try inputPipe.fileHandleForWriting.close()
        if output != nil { try outputPipe.fileHandleForWriting.close() }
        self.output = Self.read(outputPipe, lineContinuation)
        self.error = Self.read(errorPipe)
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// Waits for a line of standard output that is a JSON object as asked for; false where the run ends without one.
    ///
    /// The lines before it are taken from ``lines``.
    @discardableResult
    func told(_ isIt: ([String: Any]) -> Bool) async -> Bool {
        for await line in lines {
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            if let object, isIt(object) { return true }
        }
        return false
    }

    /// Sends a signal.
    func signal(_ number: Int32) {
        kill(process.processIdentifier, number)
    }

    /// Waits for the end, once.
    func end() async throws -> End {
        var status: Int32?
        for await value in exit { status = value }
        return End(
            status: try #require(status), output: String(decoding: await output.value, as: UTF8.self),
            error: String(decoding: await error.value, as: UTF8.self))
    }

    /// Collects what comes through the pipe until its end, on a thread of its own, since reading blocks.
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
            continuation.finish()
        }
        return Task {
            var (bytes, told) = ([UInt8](), 0)
            for await chunk in chunks {
                bytes += chunk
                while let end = bytes[told...].firstIndex(of: UInt8(ascii: "\n")) {
                    lines?.yield(String(decoding: bytes[told..<end], as: UTF8.self))
                    told = end + 1
                }
            }
            lines?.finish()
            return bytes
        }
    }

    /// The executable beside the tests.
    private static var executable: URL {
        get throws {
            let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
            let tests = bundle ?? URL(fileURLWithPath: CommandLine.arguments[0])
            let executable = tests.deletingLastPathComponent().appending(path: "batch")
            try #require(FileManager.default.isExecutableFile(atPath: executable.path), "no \(executable.path)")
            return executable
        }
    }
}
