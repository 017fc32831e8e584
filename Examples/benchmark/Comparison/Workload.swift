internal import ArgumentParser

/// A workload that several programs do.
enum Workload: String, CaseIterable, Sendable, Codable, ExpressibleByArgument {
    /// One large file over one connection.
    case large
    /// The same over TLS.
    case largeTLS = "large-tls"
    /// The same with a check of the file's SHA-256 digest.
    case sha256 = "sha-256"
    /// One large file from a server that limits each connection, over 16 connections.
    case slow
    /// One large file from a server without a limit, over several connections.
    case connections
    /// Many small files, several at a time, that survive the end of the process.
    case small
    /// The same, and the files survive a power loss.
    case smallPowerLoss = "small-power-loss"
    /// Many small files over TLS.
    case smallTLS = "small-tls"
    /// Small files from many origins, with few file descriptors.
    case origins
    /// Files over many connections with TLS at a time; the peak of the memory is of interest.
    case connectionsTLS = "connections-tls"
    /// Many small files from a server that delays each response, with the library's default options.
    case latency
    /// Many small files from a server that limits the number of requests in a time.
    case requestLimit = "request-limit"
    /// One file with a bandwidth limit.
    case rateLimit = "rate-limit"
    /// One large file with 100 handles.
    case subscribers
    /// One large file with a handle whose events are not read.
    case unreadEvents = "unread-events"

    /// The description in the report.
    func title(_ size: WorkloadSize) -> String {
        let small = "\(size.files) files of 4 KiB, \(WorkloadSize.jobs) at a time"
        return switch self {
        case .large: "\(size.mebibytes) MiB over one connection"
        case .largeTLS: "\(size.mebibytes) MiB over one connection with TLS"
        case .sha256: "\(size.mebibytes) MiB over one connection, with a SHA-256 checksum"
        case .slow: "\(size.slowMebibytes) MiB, \(WorkloadSize.limit) MiB/s for each of 16 connections"
        case .connections: "\(size.mebibytes) MiB over \(Self.connectionCount) connections"
        case .small: small
        case .smallPowerLoss: "\(small), durable after a power loss"
        case .smallTLS: "\(small), with TLS"
        case .origins:
            "\(size.origins * WorkloadSize.filesPerOrigin) files of 4 KiB from \(size.origins) origins, "
                + "\(WorkloadSize.descriptors) descriptors"
        case .connectionsTLS:
            "\(WorkloadSize.connections) files of \(size.mediumMebibytes) MiB with TLS, all at a time"
        case .latency:
            "\(size.delayedFiles) files of 4 KiB, \(WorkloadSize.delay) ms before each response, default options"
        case .requestLimit:
            "\(size.requestedFiles) files of 4 KiB from a server that allows \(size.requestCount) requests in "
                + "\(size.requestSeconds) s"
        case .rateLimit: "\(size.limitedMebibytes) MiB, limited to \(WorkloadSize.limit) MiB/s"
        case .subscribers: "\(size.mebibytes) MiB, 100 handles of one transfer"
        case .unreadEvents: "\(size.mebibytes) MiB, with a handle that never reads its events"
        }
    }

    static let connectionCount = 4

    /// The programs that do the workload; the first one is the library.
    var programs: [Program] {
        switch self {
        case .large, .largeTLS: [.library, .curl, .bare, .otherEngine, .wget2]
        case .sha256: [.library, .openssl, .withoutChecksum, .curl]
        case .slow: [.library, .aria2c, .automaticNumber]
        case .connections: [.library, .oneConnection, .otherEngine, .curl]
        case .small: [.library, .curl, .bare, .otherEngine, .wget2, .aria2c]
        case .smallPowerLoss: [.library, .curl, .bare, .processCrash]
        case .smallTLS: [.library, .curl, .bare, .otherEngine]
        // AsyncHTTPClient has no bound for connections over all hosts, and can't do this.
        case .origins: [.library, .curl]
        case .connectionsTLS: [.library, .curl, .otherEngine]
        case .latency: [.library, .curl, .processCrash]
        case .requestLimit, .rateLimit: [.library, .exactRate, .curl]
        case .subscribers, .unreadEvents: [.library, .oneHandle]
        }
    }

    /// The programs beside which the summary shows the library.
    var references: [Program] {
        switch self {
        case .large, .small, .smallTLS: [.curl, .bare]
        case .sha256: [.openssl, .curl]
        case .smallPowerLoss: [.processCrash, .curl]
        case .largeTLS, .latency, .origins, .connectionsTLS: [.curl]
        case .slow: [.aria2c, .automaticNumber]
        case .connections: [.oneConnection]
        case .requestLimit, .rateLimit: [.exactRate]
        case .subscribers, .unreadEvents: [.oneHandle]
        }
    }

    /// Whether the files are fetched over TLS.
    var isSecure: Bool { self == .largeTLS || self == .smallTLS || self == .connectionsTLS }

    /// Whether the workload consists of many files.
    var hasManyFiles: Bool {
        switch self {
        case .small, .smallPowerLoss, .smallTLS, .origins, .latency, .requestLimit: true
        case .connectionsTLS, .large, .largeTLS, .sha256, .slow, .connections, .rateLimit, .subscribers, .unreadEvents:
            false
        }
    }

    /// Returns the length of each file in bytes.
    func fileLength(_ size: WorkloadSize) -> Int {
        switch self {
        case .large, .largeTLS, .sha256, .connections, .subscribers, .unreadEvents: size.mebibytes << 20
        case .slow: size.slowMebibytes << 20
        case .rateLimit: size.limitedMebibytes << 20
        case .connectionsTLS: size.mediumMebibytes << 20
        case .small, .smallPowerLoss, .smallTLS, .origins, .latency, .requestLimit: WorkloadSize.smallLength
        }
    }

    /// The number of files that are downloaded at a time, if it isn't the library's default.
    var jobs: Int {
        switch self {
        case .latency, .origins, .connectionsTLS: WorkloadSize.connections
        default: WorkloadSize.jobs
        }
    }

    /// The number of file descriptors that a program may use; nil if it isn't limited.
    var descriptors: Int? { self == .origins ? WorkloadSize.descriptors : nil }

    /// The number of rounds that are measured, of those that were requested.
    ///
    /// A workload whose duration is determined by a limit is repeated less often.
    func rounds(of rounds: Int) -> Int {
        switch self {
        case .requestLimit: 1
        case .rateLimit: max(1, rounds / 2)
        default: rounds
        }
    }

    /// Whether an uncounted round precedes the others.
    var isWarmedUp: Bool { self != .slow && self != .rateLimit && self != .requestLimit }
}
