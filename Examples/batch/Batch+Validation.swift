internal import ArgumentParser
internal import AsyncDownloads
internal import Foundation

extension Batch {
    // Limits that exceed every sensible value and keep products of these values far below an overflow.
    private static let jobsAllowed = 1...1024
    private static let connectionsAllowed = 1...16
    private static let longestTimeout = 86_400.0
    private static let longestDeadline = 31_536_000.0

    /// Whether there are no arguments, so that the demonstration runs.
    var isDemonstration: Bool { !namesDownloads && cleaned == nil && givenOptions.isEmpty }

    private var namesDownloads: Bool { !urls.isEmpty || input != nil || checksums != nil }

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
        if usesIPv4, usesIPv6 { throw ValidationError("-4 and -6 exclude each other") }
        if checksums != nil, base == nil { throw ValidationError("--checksums requires --base, the URL of its files") }
        if base != nil, input == nil, checksums == nil {
            throw ValidationError("--base requires a manifest (-i) or --checksums")
        }
        if input == "-", checksums == "-" {
            throw ValidationError("-i and --checksums cannot both read standard input")
        }
        let manifests = [input, checksums].compactMap { $0 }
        for (option, result) in [("--report", report), ("--failed", failureManifest)] {
            guard let result, manifests.contains(where: { Self.isSameFile($0, result) }) else { continue }
            throw ValidationError("the file of \(option) is read as a manifest, so it cannot be written at the end")
        }
        if cleaned != nil {
            guard !namesDownloads, Set(givenOptions).isSubset(of: ["--json", "-q", "--no-progress"]) else {
                throw ValidationError("--clean cannot be combined with downloads or their options")
            }
        } else if !namesDownloads {
            guard let option = givenOptions.first else { return }
            throw ValidationError("\(option) was given, but nothing to download: add URLs, or a manifest with -i")
        }
        guard urls.count == 1, input == nil, checksums == nil else {
            if output != nil { throw ValidationError("-o requires a single URL; in a manifest, use out= for each URL") }
            if checksum != nil {
                throw ValidationError("--checksum requires a single URL; in a manifest, use checksum= for each URL")
            }
            return
        }
    }

    /// Whether two paths are of one regular file.
    private static func isSameFile(_ first: String, _ second: String) -> Bool {
        func identity(_ path: String) -> [NSNumber]? {
            let attributes = try? FileManager.default.attributesOfItem(
                atPath: URL(fileURLWithPath: path).resolvingSymlinksInPath().path)
            guard let attributes, attributes[.type] as? FileAttributeType == .typeRegular else { return nil }
            return [attributes[.systemNumber], attributes[.systemFileNumber]].compactMap { $0 as? NSNumber }
        }
        return first != "-" && identity(first).map { $0 == identity(second) } ?? false
    }

    /// The options that not every engine supports, with whether they are given and whether the chosen engine supports them.
    private var optionsOfEngines: [(String, isGiven: Bool, isSupported: Bool)] {
        let engine = engine ?? .platformDefault
        return [
            ("--ca-file", trustRoots != nil, engine.acceptsTrustRoots),
            ("--client-certificate", clientIdentity != nil, engine.acceptsProxies),
            ("--proxy", proxy != nil, engine.acceptsProxies),
            ("-4", usesIPv4, engine.acceptsProxies), ("-6", usesIPv6, engine.acceptsProxies),
        ]
    }

    /// The options that are given.
    private var givenOptions: [String] {
        let options: [(String, Bool)] = [
            ("-d", directory != nil), ("-o", output != nil), ("--base", base != nil),
            ("--directories", keepsDirectories), ("--cut-dirs", cutDirectoryCount != nil), ("-j", jobs != nil),
            ("--per-host", jobsPerHost != nil), ("-x", connections != nil), ("--pace", pace != nil),
            ("--limit-rate", limitRate != nil), ("--min-rate", minimumRate != nil), ("--retries", retries != nil),
            ("--host-patience", hostPatience != nil), ("--timeout", timeout != nil), ("--deadline", deadline != nil),
            ("--max-bytes", maximumByteCount != nil), ("--in-use", inUse != nil), ("--existing", existing != nil),
            ("--checksum", checksum != nil), ("--remote-time", usesRemoteTime), ("--header", !headerLists.isEmpty),
            ("--public-header", !publicHeaders.isEmpty), ("--netrc", usesNetrc), ("--load-cookies", cookies != nil),
            ("--ca-file", trustRoots != nil), ("--client-certificate", clientIdentity != nil),
            ("--proxy", proxy != nil),
            ("-4", usesIPv4), ("-6", usesIPv6), ("--engine", engine != nil), ("--durability", durability != nil),
            ("--report", report != nil),
            ("--failed", failureManifest != nil), ("--json", json), ("-q", quiet), ("--no-progress", hidesProgress),
        ]
        return options.filter(\.1).map(\.0)
    }
}
