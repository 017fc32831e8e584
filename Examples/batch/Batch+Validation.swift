#if ServerStack
internal import ArgumentParser
internal import AsyncDownloads
internal import Foundation

extension Batch {
    /// More would be no use, and their products would have to be guarded against overflow.
    private static let jobsAllowed = 1...1024
    private static let longestTimeout = 86_400.0
    private static let longestDeadline = 31_536_000.0

    /// Whether nothing was asked for but how to show it.
    var isDemonstration: Bool { urls.isEmpty && input == nil && cleaned == nil }

    /// Refuses what is wrong with the options by themselves; what is wrong in a manifest is found when it is read.
    func validate() throws {
        if let jobs, !Self.jobsAllowed.contains(jobs) {
            throw ValidationError("-j takes a number from 1 to \(Self.jobsAllowed.upperBound)")
        }
        if let retries, retries < 0 { throw ValidationError("--retries takes a number from 0") }
        if let timeout, !(timeout > 0 && timeout <= Self.longestTimeout) {
            throw ValidationError("--timeout takes seconds, more than 0 and at most \(Int(Self.longestTimeout))")
        }
        if let deadline, !(deadline > 0 && deadline <= Self.longestDeadline) {
            throw ValidationError("--deadline takes seconds, more than 0 and at most \(Int(Self.longestDeadline))")
        }
        let isSingle = urls.count == 1 && input == nil
        if cleaned != nil {
            guard urls.isEmpty, input == nil, optionsOfDownloads.isEmpty else {
                throw ValidationError("--clean removes what earlier runs left, and downloads nothing")
            }
        } else if isDemonstration {
            guard optionsOfDownloads.isEmpty else {
                throw ValidationError(
                    "\(optionsOfDownloads[0]) was given, but nothing to download: name URLs, or a manifest with -i")
            }
        } else if output != nil, !isSingle {
            throw ValidationError("-o names the file of a single URL; a manifest has out= for each")
        } else if checksum != nil, !isSingle {
            throw ValidationError("--checksum belongs to a single URL; a manifest has checksum= for each")
        }
    }

    /// The options given that mean nothing to the demonstration.
    private var optionsOfDownloads: [String] {
        let options: [(String, Bool)] = [
            ("-d", directory != nil), ("-o", output != nil), ("-j", jobs != nil), ("--retries", retries != nil),
            ("--timeout", timeout != nil), ("--checksum", checksum != nil), ("--header", !headers.isEmpty),
            ("--public-header", !publicHeaders.isEmpty),
            ("--durability", durability != nil), ("--deadline", deadline != nil),
            ("--max-bytes", maximumByteCount != nil), ("--in-use", inUse != nil),
        ]
        return options.filter(\.1).map(\.0)
    }
}
#endif
