public import Foundation

/// An object that downloads files and continues unfinished downloads.
///
/// ```swift
/// let downloader = Downloader()
/// let file = try await downloader.download(from: url, to: destination)
/// ```
///
/// Use one downloader for a whole program: requests for the same resource share a transfer only within one downloader,
/// and its limits apply only to its own transfers. All members may be used from any thread. Transfers continue until
/// they end, even if the downloader and all handles have been released; ``shutdown()`` ends them in an orderly way.
public final class Downloader: Sendable {
    /// The settings of this downloader, which apply where a request doesn't specify its own.
    ///
    /// The value includes the current ``bandwidthLimit``.
    public var configuration: Configuration {
        var configuration = environment.configuration
        configuration.bandwidthLimit = bandwidthLimit
        return configuration
    }

    let environment: TransferEnvironment
    /// The error with which every request fails because of the configuration; nil if the configuration is valid.
    let configurationError: DownloadError?
    /// The background session that carries out the downloads, if the configuration chooses one.
    let background: BackgroundClient?
    private var registry: TransferRegistry { environment.registry }

    private static var defaultSpillDirectory: URL {
        let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
        return SpilledBodies.directory(
            in: caches ?? FileManager.default.temporaryDirectory, bundleIdentifier: Bundle.main.bundleIdentifier)
    }

    /// Creates a downloader with its own engine and limits.
    public convenience init(configuration: Configuration = Configuration()) {
        self.init(
            configuration: configuration,
            transport: configuration.makeTransport(),
            store: PartialStore(durability: configuration.durability), time: SystemTimeSource(),
            network: SystemPathMonitor.shared)
    }

    /// Creates a downloader with another engine, store, and clock, for tests.
    package init(
        configuration: Configuration, transport: any Transport, store: PartialStore, time: any TimeSource,
        network: any PathMonitor = ManualPathMonitor(),
        backgroundSessions: BackgroundSessions = .shared, containers: (any Containers)? = SystemContainers.moving
    ) {
        let lifecycle = backgroundSessions.environment.lifecycle
        configurationError = configuration.validationError
        background = configuration.backgroundSession.map { BackgroundClient($0, configuration, in: backgroundSessions) }
        let spillDirectory = configuration.partialsDirectory ?? Self.defaultSpillDirectory
        var store = store
        (store.bodies, store.spillDirectory) = (configuration.partialBodies, spillDirectory.path)
        store.attributes = configuration.fileAttributes
        let log = configuration.log
        let destinations = DestinationReservations()
        let registry = TransferRegistry(destinations: destinations)
        let scheduler = TransferScheduler(
            limit: configuration.largestTransferCount, openLimit: configuration.largestOpenTransferCount,
            silentLimit: configuration.largestSilentTransferCount, configuration.hostLimit, time: time)
        let connections = ConnectionCoordinator(scheduler: scheduler)
        environment = TransferEnvironment(
            transport: transport,
            store: store,
            bandwidth: BandwidthLimiter(limit: configuration.bandwidthLimit.bytesPerSecond, time: time),
            scheduler: scheduler,
            connections: connections,
            registry: registry,
            time: time,
            destinations: destinations,
            log: log,
            suspensionGuard: lifecycle.needsActivities
                ? SuspensionGuard(lifecycle: lifecycle, registry: registry) : nil,
            pressureResponder: MemoryPressureResponder(
                monitor: configuration.memoryPressure.makeMonitor(time: time),
                policy: configuration.memoryPressurePolicy, store: store, registry: registry, log: log,
                whenChanged: { connections.pressureChanged(to: $0, at: time.now) }),
            network: NetworkWatch(network, usesLocalProxy: transport.usesLocalProxy, registry: registry),
            configuration: configuration,
            containers: containers.map { AppContainers($0, groups: configuration.appGroupIdentifiers) },
            partialsDirectory: configuration.partialsDirectory,
            spillDirectory: spillDirectory)
    }

    /// Downloads `url` to the file `destination` and returns the finished file.
    ///
    /// The download continues from the bytes that an earlier request or process left. Canceling the task keeps the
    /// bytes.
    ///
    /// - Throws: The error that ended the download; its code is ``DownloadError/Code/cancelled`` if the task was
    ///   canceled.
    public func download(from url: URL, to destination: URL) async throws(DownloadError) -> DownloadedFile {
        try await download(DownloadRequest(from: url, to: destination))
    }

    /// Carries out `request` and returns the finished file; see ``download(from:to:)``.
    public func download(_ request: DownloadRequest) async throws(DownloadError) -> DownloadedFile {
        // Without this check, a task that is already canceled would start a transfer.
        if Task.isCancelled { throw DownloadError(.cancelled, url: request.url) }
        return try await start(request).file
    }

    /// Downloads `url` into memory.
    ///
    /// The download shares a transfer with others of the same resource, whether they are to files or into memory. If it
    /// is canceled, the received bytes are kept in ``Configuration/partialBodies`` for the next request.
    ///
    /// - Parameters:
    ///   - url: The http or https URL of the resource.
    ///   - maximumByteCount: The maximum number of bytes to accept; `nil` uses ``Configuration/maximumDataByteCount``.
    /// - Throws: The error that ended the download. Its code is ``DownloadError/Code/bodyTooLarge`` as soon as the
    ///   server announces or sends too many bytes.
    public func data(from url: URL, maximumByteCount: Int64? = nil) async throws(DownloadError) -> Data {
        var request = DownloadRequest(from: url, to: .memory)
        request.maximumByteCount = maximumByteCount
        return try await data(for: request)
    }

    /// Downloads the resource of `request` into memory, ignoring its destination; see ``data(from:maximumByteCount:)``.
    public func data(for request: DownloadRequest) async throws(DownloadError) -> Data {
        var request = request
        request.destination = .memory
        let file = try await download(request)
        guard let data = file.data else { preconditionFailure("a download into memory ended without its bytes") }
        return data
    }

    /// Starts a download, or joins the running transfer of the same resource.
    ///
    /// This method returns at once. If the request is invalid, the handle's ``Download/file`` and ``Download/events``
    /// throw ``DownloadError/Code/invalidRequest``.
    @discardableResult
    public func start(_ request: DownloadRequest) -> Download {
        startDownload(request)
    }

    /// The transfers that have not finished.
    var liveTransfers: [TransferSlot] { registry.transfers }

    /// The maximum rate at which all downloads together receive bytes.
    ///
    /// A change applies at once, including to running downloads. Connections that fetch large files get about equal
    /// shares. Bytes are counted when they are written, including bytes that are received again. Received bytes that
    /// wait for their share are kept in memory, and a pause discards them: up to 1.25 MiB for each connection with
    /// AsyncHTTPClient, and 8 MiB with URLSession on Linux. The amount for URLSession on Apple platforms has not been
    /// measured. Time in which a download waits for its share counts toward its deadline but not toward its idle
    /// timeout. A value below 1 counts as 1. The transfers of a background session aren't limited.
    public var bandwidthLimit: ByteRate {
        get { ByteRate(environment.bandwidth.limit) }
        set { environment.bandwidth.limit = newValue.bytesPerSecond }
    }

    /// Pauses every download.
    public func pauseAll() {
        background?.setAllPaused(true)
        // Waiting downloads are paused first, because a running one releases its permit, which would start them.
        let transfers = registry.transfers.map { (transfer: $0, waits: $0.isWaiting) }
        for (transfer, waits) in transfers where waits { transfer.activeSubscribers.forEach(transfer.pause) }
        for (transfer, waits) in transfers where !waits { transfer.activeSubscribers.forEach(transfer.pause) }
    }

    /// Resumes every paused download, in the order in which they were started.
    public func resumeAll() {
        background?.setAllPaused(false)
        for transfer in registry.transfers { transfer.activeSubscribers.forEach(transfer.resume) }
    }

    /// Releases the resources of paused downloads, as the system does under memory pressure (``MemoryPressurePolicy``).
    ///
    /// Bodies in memory are moved to disk. Paused downloads whose handles have been released end. If `discardingBytes`
    /// is true, the bytes of paused downloads are discarded, in memory as well as on disk. After ``shutdown()``, this
    /// method has no effect.
    ///
    /// - Returns: The number of bytes that were released from memory.
    @discardableResult
    public func purgePaused(discardingBytes: Bool = false) async -> Int {
        let pressureResponder = environment.pressureResponder
        do throws(DownloadError) {
            return try await registry.performBlocking { () throws(DownloadError) in
                pressureResponder.free(toDisk: true, discarding: discardingBytes, because: "purging paused downloads")
            }
        } catch {
            // The downloader was shut down.
            return 0
        }
    }

    /// Stops all downloads, keeps their bytes, and releases the engine.
    ///
    /// The downloads fail with ``DownloadError/Code/shutDown``, and all bytes are kept. This method returns when
    /// the files of all downloads are closed and other operations that use files, such as
    /// ``restore(in:includingSubdirectories:prepare:)``, have ended. Later requests and operations fail with the same
    /// error. The transfers of a background session continue.
    public func shutdown() async {
        await background?.shutDown()
        registry.close()
        // The scheduler is closed first, so that the permits of ending transfers don't start waiting ones.
        environment.scheduler.close()
        for transfer in registry.transfers {
            transfer.shutDown(DownloadError(.shutDown))
        }
        await registry.drained()
        environment.pressureResponder.end()
        await environment.transport.shutdown()
    }
}

extension Downloader: CustomReflectable {
    /// A mirror without children, because the requests in progress may contain secrets.
    public var customMirror: Mirror { .opaque(self) }
}

extension Downloader.Configuration {
    /// The maximum number of running transfers.
    var largestTransferCount: Int {
        maximumConcurrentTransfers.map { max(1, $0) } ?? min(ConcurrencyLimit.maximumCount, affordableTransferCount)
    }

    /// The maximum number of transfers that run, or that verify or place their files.
    var largestOpenTransferCount: Int {
        let (twice, isTooLarge) = largestTransferCount.multipliedReportingOverflow(by: 2)
        return isTooLarge ? affordableTransferCount : min(twice, affordableTransferCount)
    }

    /// The maximum number of transfers that run in addition, while their hosts have sent no response for two seconds.
    var largestSilentTransferCount: Int {
        // The limit of descriptors may be lowered between the two calls.
        max(0, min(16 * min(largestTransferCount, 16), affordableTransferCount - largestOpenTransferCount))
    }

    /// The number of transfers whose files the process may open.
    ///
    /// A transfer has up to four open files, and half of the permitted files are left to the rest of the process.
    private var affordableTransferCount: Int {
        DescriptorLimit.current.map { max($0 / 8, ConcurrencyLimit.initialCount) } ?? .max
    }

    /// The maximum number of running transfers for each host.
    var largestTransferCountPerHost: Int { maximumConcurrentTransfersPerHost ?? ConcurrencyLimit.maximumCount }

    fileprivate var hostLimit: HostLimit.Settings {
        HostLimit.Settings(
            transferCount: maximumConcurrentTransfersPerHost, pace: requestPace, patience: hostPatience)
    }

    /// The maximum number of connections of a transfer whose request specifies none.
    var largestConnectionCount: Int { max(1, min(maximumConnectionsPerTransfer, HostPool.maximumExchangeCount)) }
}
