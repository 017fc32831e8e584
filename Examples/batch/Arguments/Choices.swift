#if ServerStack
internal import ArgumentParser
internal import AsyncDownloads

/// The values of `--engine`.
enum Engine: String, CaseIterable, Sendable, ExpressibleByArgument {
    case httpClient = "http-client"
    case urlSession = "urlsession"

    /// The engine that the library uses unless another one is chosen.
    static var platformDefault: Self {
        #if canImport(Darwin)
        .urlSession
        #else
        .httpClient
        #endif
    }

    var transport: Downloader.TransportChoice {
        switch self {
        case .httpClient: .httpClient
        case .urlSession: .urlSession
        }
    }
}

/// The values of `--durability`.
enum DurabilityName: String, CaseIterable, Sendable, ExpressibleByArgument {
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
enum InUseName: String, CaseIterable, Sendable, ExpressibleByArgument {
    case wait, fail

    var policy: PartialInUsePolicy {
        switch self {
        case .wait: .wait
        case .fail: .fail
        }
    }
}
#endif
