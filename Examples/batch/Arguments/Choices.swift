internal import ArgumentParser
internal import AsyncDownloads

/// The values of `--engine`.
enum Engine: String, CaseIterable, Sendable {
    #if ServerStack
    case nio
    case httpClient = "http-client"
    #endif
    case urlSession = "urlsession"

    /// The engine that the library uses unless another one is chosen.
    static var platformDefault: Self {
        #if ServerStack && !canImport(Darwin)
        .nio
        #else
        .urlSession
        #endif
    }

    var transport: Downloader.TransportChoice {
        switch self {
        #if ServerStack
        case .httpClient: .httpClient
        case .nio: .nio
        #endif
        case .urlSession: .urlSession
        }
    }

    /// Whether the engine can trust root certificates in addition to the system's.
    var acceptsTrustRoots: Bool { self != .urlSession }

    /// Whether the engine supports a proxy and a client's certificate.
    var acceptsProxies: Bool {
        #if ServerStack
        self == .nio
        #else
        false
        #endif
    }
}

/// The values of `--durability`.
enum DurabilityName: String, CaseIterable, Sendable {
    case powerLoss = "power-loss"
    case processCrash = "process-crash"

    var policy: Durability {
        switch self {
        case .powerLoss: .powerLoss
        case .processCrash: .processCrash
        }
    }
}

/// The values of `--in-use`.
enum InUseName: String, CaseIterable, Sendable {
    case wait, fail

    var policy: PartialInUsePolicy {
        switch self {
        case .wait: .wait
        case .fail: .fail
        }
    }
}

/// The values of `--existing`.
enum ExistingName: String, CaseIterable, Sendable, ExpressibleByArgument {
    case reuse, keep, replace, fail

    var policy: ExistingFilePolicy {
        switch self {
        case .reuse: .reuse
        case .keep: .keep
        case .replace: .replace
        case .fail: .fail
        }
    }
}

extension RawRepresentable where Self: CaseIterable, RawValue == String {
    /// Returns the value that an option names; the parser lists no values of options that are hidden.
    static func named(_ text: String) throws(Misuse) -> Self {
        guard let value = Self(rawValue: text) else {
            throw Misuse("the values are \(allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return value
    }
}
