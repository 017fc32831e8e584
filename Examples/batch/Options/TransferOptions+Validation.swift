internal import ArgumentParser

extension TransferOptions {
    // Limits that exceed every sensible value and keep products of these values far below an overflow.
    private static let jobsAllowed = 1...1024
    private static let connectionsAllowed = 1...16
    private static let longestTimeout = 86_400.0
    private static let longestDeadline = 31_536_000.0

    /// Rejects invalid options and combinations.
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
        for (option, isGiven, isSupported) in optionsOfEngines where isGiven && !isSupported {
            throw ValidationError("\(option) isn't supported by --engine \((engine ?? .platformDefault).rawValue)")
        }
        if usesIPv4, usesIPv6 { throw ValidationError("-4 and -6 exclude each other") }
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
    var givenOptions: [String] {
        let options: [(String, Bool)] = [
            ("-j", jobs != nil), ("--per-host", jobsPerHost != nil), ("-x", connections != nil),
            ("--pace", pace != nil),
            ("--limit-rate", limitRate != nil), ("--min-rate", minimumRate != nil), ("--retries", retries != nil),
            ("--host-patience", hostPatience != nil), ("--timeout", timeout != nil), ("--deadline", deadline != nil),
            ("--max-bytes", maximumByteCount != nil), ("--in-use", inUse != nil), ("--existing", existing != nil),
            ("--remote-time", usesRemoteTime), ("--header", !headerLists.isEmpty),
            ("--public-header", !publicHeaders.isEmpty), ("--netrc", usesNetrc), ("--load-cookies", cookies != nil),
            ("--ca-file", trustRoots != nil), ("--client-certificate", clientIdentity != nil),
            ("--proxy", proxy != nil), ("-4", usesIPv4), ("-6", usesIPv6), ("--engine", engine != nil),
            ("--durability", durability != nil),
        ]
        return options.filter(\.1).map(\.0)
    }
}

extension DisplayOptions {
    /// The options that are given.
    var givenOptions: [String] {
        [("--json", json), ("-q", quiet), ("--no-progress", hidesProgress)].filter(\.1).map(\.0)
    }
}
