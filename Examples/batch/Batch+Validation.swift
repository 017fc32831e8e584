internal import ArgumentParser
internal import AsyncDownloads
internal import Foundation

extension Batch {
    // Limits that exceed every sensible value and keep products of these values far below an overflow.
    private static let jobsAllowed = 1...1024
    private static let connectionsAllowed = 1...16
    private static let longestTimeout = 86_400.0
    private static let longestDeadline = 31_536_000.0

    /// Whether the arguments name nothing to download or clean, so that the demonstration runs.
    var isDemonstration: Bool { urls.isEmpty && input == nil && cleaned == nil }

    /// Rejects invalid options and combinations; errors in a manifest are found when it is read.
    func validate() throws {
        if let jobs, !Self.jobsAllowed.contains(jobs) {
            throw ValidationError("-j requires a number from 1 to \(Self.jobsAllowed.upperBound)")
        }
        if let jobsPerHost, !Self.jobsAllowed.contains(jobsPerHost) {
            throw ValidationError("--per-host requires a number from 1 to \(Self.jobsAllowed.upperBound)")
        }
        if let connections, !Self.connectionsAllowed.contains(connections) {
            throw ValidationError("-x requires a number from 1 to \(Self.connectionsAllowed.upperBound)")
        }
        if let limitRate, limitRate.value < 1 {
            throw ValidationError("--limit-rate requires a number of at least 1")
        }
        if let minimumRate, minimumRate.value < 1 {
            throw ValidationError("--min-rate requires a number of at least 1")
        }
        if let retries, retries < 0 { throw ValidationError("--retries requires a number of at least 0") }
        if let timeout, !(timeout > 0 && timeout <= Self.longestTimeout) {
            throw ValidationError(
                "--timeout requires a number of seconds that is positive and at most \(Int(Self.longestTimeout))")
        }
        if let hostPatience, !(hostPatience >= 0 && hostPatience <= Self.longestTimeout) {
            throw ValidationError("--host-patience requires a number of seconds from 0 to \(Int(Self.longestTimeout))")
        }
        if let deadline, !(deadline > 0 && deadline <= Self.longestDeadline) {
            throw ValidationError(
                "--deadline requires a number of seconds that is positive and at most \(Int(Self.longestDeadline))")
        }
        if let cutDirectoryCount {
            guard keepsDirectories else { throw ValidationError("--cut-dirs requires --directories") }
            guard cutDirectoryCount >= 0 else { throw ValidationError("--cut-dirs requires a number of at least 0") }
        }
        for (option, isGiven, isSupported) in optionsOfEngines where isGiven && !isSupported {
            throw ValidationError("\(option) requires --engine nio")
        }
        let isSingle = urls.count == 1 && input == nil
        if cleaned != nil {
            guard urls.isEmpty, input == nil, optionsOfDownloads.isEmpty else {
                throw ValidationError("--clean cannot be combined with downloads or their options")
            }
        } else if isDemonstration {
            guard optionsOfDownloads.isEmpty else {
                throw ValidationError(
                    "\(optionsOfDownloads[0]) was given, but nothing to download: add URLs, or a manifest with -i")
            }
        } else if output != nil, !isSingle {
            throw ValidationError("-o requires a single URL; in a manifest, use out= for each URL")
        } else if checksum != nil, !isSingle {
            throw ValidationError("--checksum requires a single URL; in a manifest, use checksum= for each URL")
        }
    }

    /// The options that not every engine supports, with whether they are given and whether the chosen engine supports them.
    private var optionsOfEngines: [(String, isGiven: Bool, isSupported: Bool)] {
        let engine = engine ?? .platformDefault
        return [
            ("--ca-file", trustRoots != nil, engine.acceptsTrustRoots),
            ("--client-certificate", clientIdentity != nil, engine.acceptsProxies),
            ("--proxy", proxy != nil, engine.acceptsProxies),
        ]
    }

    /// The given options that apply to downloads only.
    private var optionsOfDownloads: [String] {
        let options: [(String, Bool)] = [
            ("-d", directory != nil), ("-o", output != nil), ("--directories", keepsDirectories),
            ("--cut-dirs", cutDirectoryCount != nil), ("-j", jobs != nil), ("--per-host", jobsPerHost != nil),
            ("-x", connections != nil), ("--retries", retries != nil), ("--host-patience", hostPatience != nil),
            ("--timeout", timeout != nil), ("--checksum", checksum != nil), ("--header", !headers.isEmpty),
            ("--public-header", !publicHeaders.isEmpty),
            ("--durability", durability != nil), ("--deadline", deadline != nil),
            ("--max-bytes", maximumByteCount != nil), ("--in-use", inUse != nil),
            ("--limit-rate", limitRate != nil), ("--pace", pace != nil),
            ("--min-rate", minimumRate != nil),
            ("--ca-file", trustRoots != nil), ("--client-certificate", clientIdentity != nil),
            ("--proxy", proxy != nil),
        ]
        return options.filter(\.1).map(\.0)
    }
}
