internal import Foundation

/// A program that does a workload, or a variant of the library.
enum Program: String, Sendable, Codable {
    case library = "async-downloads"
    /// The HTTP engine without the library.
    case bare = "bare engine"
    case curl, wget, wget2, aria2c
    /// curl with its own retries, each of which starts with the first byte.
    case curlRetry = "curl --retry"
    /// The computation of the digest without a download.
    case openssl = "openssl dgst"
    /// The library with AsyncHTTPClient instead of its own engine.
    case otherEngine = "on AsyncHTTPClient"
    /// The library without a checksum.
    case withoutChecksum = "without checksum"
    /// The library with one connection for each file.
    case oneConnection = "one connection"
    /// The library with the number of connections that it finds.
    case automaticNumber = "automatic number"
    /// The library with one handle for each transfer.
    case oneHandle = "one handle"
    /// The library with files that survive the end of the process only.
    case processCrash = "process crash"
    /// The time that follows from a bandwidth limit; no program runs.
    case exactRate = "exact rate"

    /// The command of a program that is not part of this package.
    private var externalCommand: String? {
        switch self {
        case .curl, .wget, .wget2, .aria2c: rawValue
        case .curlRetry: "curl"
        case .openssl: "openssl"
        case .library, .bare, .otherEngine, .withoutChecksum, .oneConnection, .automaticNumber, .oneHandle,
            .processCrash,
            .exactRate:
            nil
        }
    }

    /// The path of the program's executable; nil if it is not installed.
    var executable: String? { externalCommand.map(Self.path(of:)) ?? Bundle.main.executablePath }

    /// Returns the path of an installed command.
    static func path(of command: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let directories = path.split(separator: ":").map(String.init) + ["/usr/sbin"]
        return directories.map { "\($0)/\(command)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The name and the version that the program prints; nil if it is not installed or part of this package.
    func version() async throws -> String? {
        guard let externalCommand, let executable else { return nil }
        let output = try await CommandRun.output(
            of: [executable, externalCommand == "openssl" ? "version" : "--version"])
        // The other words name libraries, or describe the program.
        let line = output.split(separator: "\n").first ?? ""
        return line.split(separator: " ", omittingEmptySubsequences: true).prefix {
            $0 != "-" && $0 != "built" && $0.first != "("
        }
        .joined(separator: " ")
    }
}
