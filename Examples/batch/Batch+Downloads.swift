internal import ArgumentParser
internal import AsyncDownloads
internal import Foundation

/// The translation of the options into values of the library.
extension Batch {
    /// The directory for the downloaded files.
    var destination: URL { URL(fileURLWithPath: directory ?? ".", isDirectory: true) }

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
        configuration.additionalTrustRoots = trustRoots
        configuration.clientIdentity = clientIdentity
        if let proxy { configuration.proxy = proxy.choice(environment: ProcessInfo.processInfo.environment) }
        if let durability { configuration.durability = durability.policy }
        return configuration
    }

    /// Returns the items of the URLs, then those of the manifest, each in the given order.
    func items() throws -> [Item] {
        var names = NameRegister(cutDirectoryCount: keepsDirectories ? cutDirectoryCount ?? 0 : nil)
        var items = urls.map { Item(address: $0, output: output, checksum: checksum) }
        // The names of URLs never conflict, because they get numbers.
        for id in items.indices { _ = names.register(&items[id]) }
        if let input { items += try manifest(input, names).entries.map(\.item) }
        let (common, publicCommon) = (headers, publicHeaders)
        for id in items.indices {
            items[id].id = id
            items[id].headers = common + items[id].headers
            items[id].publicHeaders = publicCommon + items[id].publicHeaders
            items[id].maximumByteCount = maximumByteCount?.value
            items[id].connectionCount = connections
        }
        return items
    }

    private func manifest(_ path: String, _ names: NameRegister) throws -> Manifest {
        // A path that looks like a URL is probably a misplaced one, and may contain secrets.
        let isPlain = !path.contains(where: "?#@".contains) && !path.contains("://")
        let name = path == "-" ? "standard input" : isPlain ? path : "the manifest"
        let bytes: Data
        do {
            if path == "-" {
                bytes = try FileHandle.standardInput.readToEnd() ?? Data()
            } else {
                bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            }
        } catch {
            throw ValidationError("\(name) cannot be read" + (isPlain ? ": \(error.localizedDescription)" : ""))
        }
        do throws(ManifestError) {
            return try Manifest(bytes, names: names)
        } catch {
            throw ValidationError("\(name):\(error)")
        }
    }
}
