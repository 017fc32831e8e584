internal import ArgumentParser
internal import AsyncDownloads

/// The values of `--engine`.
enum Engine: String, CaseIterable, Sendable, ExpressibleByArgument {
    case httpClient = "http-client"
    case urlSession = "urlsession"

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

    var policy: InUsePolicy {
        switch self {
        case .wait: .wait
        case .fail: .fail
        }
    }
}

extension Checksum {
    /// The value of `--checksum`, and of a manifest's `checksum=`.
    init(argument: String) throws(Misuse) {
        guard let checksum = Checksum(argument) else {
            throw Misuse("a checksum is written as sha-256= or sha-512= and all of its hexadecimal digits")
        }
        self = checksum
    }
}
