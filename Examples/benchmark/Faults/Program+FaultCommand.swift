internal import Foundation

extension Program {
    /// The programs that download from bad servers, the library first.
    static let faultPrograms: [Program] = [.library, .curl, .curlRetry, .wget, .wget2, .aria2c]

    /// Returns the command that downloads one file; nil if the program is not installed.
    ///
    /// Each program gets the options with which it continues its own unfinished files, tries again without waiting, and
    /// stops when a server is silent.
    ///
    /// - Parameters:
    ///   - transfer: The file, in `directory`, with the last component of the URL as its name.
    ///   - list: The path of a list of the file.
    func faultCommand(_ transfer: FileTransfer, list: String, directory: String) -> [String]? {
        guard let executable else { return nil }
        return [executable]
            + faultArguments(
                url: transfer.url.absoluteString, path: transfer.path, list: list, directory: directory)
    }

    /// The command with placeholders, for a report.
    var faultCommandLine: String {
        let name = self == .library ? "benchmark" : rawValue.prefix { $0 != " " }.description
        return ([name] + faultArguments(url: "URL", path: "FILE", list: "LIST", directory: "DIR"))
            .joined(separator: " ")
    }

    private func faultArguments(url: String, path: String, list: String, directory: String) -> [String] {
        func curl(_ options: [String]) -> [String] {
            ["--disable", "--silent", "--fail", "--location", "--speed-time", "10"] + options + ["--output", path, url]
        }
        let wget = [
            "--quiet", "--continue", "--tries=6", "--waitretry=0", "--timeout=10", "--directory-prefix=\(directory)",
            url,
        ]
        switch self {
        case .library:
            return ["fetch", list] + FetchOptions(retriesAtOnce: true).arguments
        case .curl:
            return curl(["--continue-at", "-"])
        case .curlRetry:
            // A delay of zero would stand for delays that are doubled.
            return curl(["--retry", "5", "--retry-all-errors", "--retry-delay", "1", "--continue-at", "-"])
        case .wget:
            return ["--no-config"] + wget
        case .wget2:
            return ["--no-config", "--no-local-db"] + wget
        case .aria2c:
            // Version 1.36 ends with a failed assertion if it starts again with bytes in its cache.
            return [
                "--no-conf", "--quiet", "--continue=true", "--always-resume=false", "--allow-overwrite=true",
                "--auto-file-renaming=false", "--file-allocation=none", "--disk-cache=0", "--max-tries=6",
                "--retry-wait=0", "--timeout=10", "--connect-timeout=10", "--dir=\(directory)", url,
            ]
        case .bare, .otherEngine, .openssl, .withoutChecksum, .oneConnection, .automaticNumber, .oneHandle,
            .processCrash,
            .exactRate:
            preconditionFailure("\(rawValue) does not download from bad servers")
        }
    }
}
