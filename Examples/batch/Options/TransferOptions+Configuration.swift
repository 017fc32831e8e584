internal import AsyncDownloads
internal import Foundation

/// The translation of the options into values of the library.
extension TransferOptions {
    /// The number of requests that are open at the same time.
    ///
    /// It exceeds the number of running downloads, so that downloads that wait for a retry do not block others.
    var window: Int { 4 * (jobs ?? Self.largestDefaultJobs) }

    private static let largestDefaultJobs = 64
    /// A run without a user may wait longer for a host than an app.
    private static let defaultHostPatience = 300.0

    /// The configuration that follows from the options for all downloads.
    var downloaderConfiguration: Downloader.Configuration {
        var configuration = Downloader.Configuration()
        configuration.maximumConcurrentTransfers = jobs
        configuration.maximumConcurrentTransfersPerHost = jobsPerHost
        configuration.requestPace = pace
        configuration.minimumRate = minimumRate?.value ?? 0
        if let limitRate { configuration.bandwidthLimit = .bytesPerSecond(limitRate.value) }
        if let retries { configuration.retryPolicy.maximumRetries = retries }
        configuration.hostPatience = .seconds(hostPatience ?? Self.defaultHostPatience)
        if let timeout { configuration.idleTimeout = .seconds(timeout) }
        if let deadline { configuration.deadline = .seconds(deadline) }
        if let inUse { configuration.partialInUsePolicy = inUse.policy }
        if let existing { configuration.existingFilePolicy = existing.policy }
        if let engine { configuration.transport = engine.transport }
        // Without a network, a run ends with a status that says so, instead of waiting for one.
        configuration.networkAccess.whenUnavailable = .fail
        configuration.additionalTrustRoots = trustRoots
        configuration.clientIdentity = clientIdentity
        if usesIPv4 { configuration.addressFamily = .ipv4 }
        if usesIPv6 { configuration.addressFamily = .ipv6 }
        configuration.fileAttributes.usesLastModified = usesRemoteTime
        if let proxy { configuration.proxy = proxy.choice(environment: ProcessInfo.processInfo.environment) }
        if let durability { configuration.durability = durability.policy }
        return configuration
    }

    /// The settings that the options add to each request.
    var requestSettings: RequestSettings {
        get throws(Misuse) {
            RequestSettings(
                headers: headerLists.flatMap(\.lines), publicHeaders: publicHeaders,
                netrc: usesNetrc ? try Netrc(environment: ProcessInfo.processInfo.environment) : nil, cookies: cookies,
                maximumByteCount: maximumByteCount?.value, connectionCount: connections)
        }
    }
}
