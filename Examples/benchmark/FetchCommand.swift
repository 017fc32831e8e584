internal import ArgumentParser
internal import AsyncDownloads
internal import Foundation
internal import Logging

/// The hidden subcommand `fetch`, which does a workload in a separate process.
struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "fetch", shouldDisplay: false)

    @Argument(help: "A file with a URL and a path on each line, separated by a space.")
    var list: String

    @Option(help: "The number of concurrent downloads; the library's default if it is not given.")
    var jobs: Int?

    @Option(help: "The number of connections for each file.")
    var connections: Int?

    @Option(help: "The failures that files survive.")
    var durability: DurabilityOption?

    @Option(help: "The SHA-256 digest of each file in hexadecimal digits.")
    var sha256: String?

    @Option(name: .customLong("ca-file"), help: "A file of root certificates.")
    var rootFile: String?

    @Option(help: "The maximum number of bytes per second.")
    var limitRate: Int64?

    @Option(help: "The number of handles of each download whose events are read.")
    var subscribers = 1

    @Flag(help: "Adds a handle of each download whose events are not read.")
    var unread = false

    @Flag(help: "Retries failed attempts without a delay.")
    var retryAtOnce = false

    @Flag(help: "Uses the HTTP engine without the library.")
    var bare = false

    @Option(help: "The HTTP engine of the library.")
    var engine: Engine?

    /// The values of `--durability`.
    enum DurabilityOption: String, CaseIterable, Sendable, ExpressibleByArgument {
        case powerLoss = "power-loss"
        case processCrash = "process-crash"

        var policy: Durability { self == .powerLoss ? .powerLoss : .processCrash }
    }

    /// The options as a value.
    var options: FetchOptions {
        FetchOptions(
            jobs: jobs, connections: connections, durability: durability, sha256: sha256, rootFile: rootFile,
            limitRate: limitRate, subscribers: subscribers, hasUnreadHandle: unread, retriesAtOnce: retryAtOnce,
            isBare: bare, engine: engine)
    }

    func run() async throws {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        let transfers = try FileTransfer.read(URL(fileURLWithPath: list))
        if bare {
            try await BareEngine.fetch(transfers, jobs: jobs ?? 1, rootFile: rootFile)
        } else {
            try await LibraryFetch(options).run(transfers)
        }
    }
}

/// The options of the subcommand `fetch`.
struct FetchOptions: Sendable, Hashable {
    /// The number of concurrent downloads; nil for the library's default.
    var jobs: Int?
    var connections: Int?
    /// The durability; nil for the library's default.
    var durability: FetchCommand.DurabilityOption?
    var sha256: String?
    var rootFile: String?
    var limitRate: Int64?
    var subscribers = 1
    var hasUnreadHandle = false
    /// Whether failed attempts are retried without a delay.
    var retriesAtOnce = false
    var isBare = false
    /// The engine; nil for the library's default.
    var engine: Engine?

    /// The command line of the options, without the list.
    var arguments: [String] {
        var arguments: [String] = []
        func add(_ name: String, _ value: (some CustomStringConvertible)?) {
            if let value { arguments += [name, "\(value)"] }
        }
        add("--jobs", jobs)
        add("--connections", connections)
        add("--durability", durability?.rawValue)
        add("--sha256", sha256)
        add("--ca-file", rootFile)
        add("--limit-rate", limitRate)
        if subscribers != 1 { add("--subscribers", subscribers) }
        if hasUnreadHandle { arguments.append("--unread") }
        if retriesAtOnce { arguments.append("--retry-at-once") }
        if isBare { arguments.append("--bare") }
        add("--engine", engine?.rawValue)
        return arguments
    }
}
