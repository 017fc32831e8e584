public import Foundation

/// Downloads files: the facade of this package.
///
/// ```swift
/// let downloader = Downloader()
/// let file = try await downloader.download(from: url, to: destination)
/// ```
///
/// One downloader serves a whole program: requests for the same resource share one transfer only within it, and its
/// limits hold within it. All members may be used from any thread. Transfers go on until they end, whether or not
/// anybody holds the downloader or a handle; ``shutdown()`` ends them in order.
public final class Downloader: Sendable {
    /// How this downloader behaves where a request says nothing else.
    public let configuration: Configuration

    let environment: TransferEnvironment
    private let registry: TransferRegistry
    /// Where bodies go that have to leave memory.
    private let spillDirectory: URL

    private static var defaultSpillDirectory: URL {
        let caches = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
        return (caches ?? FileManager.default.temporaryDirectory).appending(path: "async-downloads")
    }

    /// Creates a downloader with its own engine and limits.
    public convenience init(configuration: Configuration = Configuration()) {
        self.init(
            configuration: configuration,
            transport: configuration.transport.makeTransport(
                maximumConnectionsPerHost: configuration.maximumConcurrentTransfersPerHost),
            store: DiskStore(durability: configuration.durability), time: SystemTimeSource())
    }

    /// Creates a downloader over other engines, stores and clocks: the seam for tests.
    package init(
        configuration: Configuration, transport: any Transport, store: any PartialStore, time: any TimeSource
    ) {
        self.configuration = configuration
        spillDirectory = configuration.partialsDirectory ?? Self.defaultSpillDirectory
        let log = Log()
        let destinations = DestinationReservations()
        registry = TransferRegistry(destinations: destinations)
        environment = TransferEnvironment(
            transport: transport,
            store: TieredStore(
                disk: store, bodies: configuration.partialBodies, spillDirectory: spillDirectory.path),
            scheduler: TransferScheduler(
                limit: configuration.maximumConcurrentTransfers,
                limitPerHost: configuration.maximumConcurrentTransfersPerHost),
            time: time,
            destinations: destinations,
            names: DirectoryNames(),
            slowDisks: SlowDisks(),
            log: log,
            abandonment: configuration.abandonmentPolicy,
            pressureResponder: MemoryPressureResponder(
                monitor: configuration.memoryPressure.makeMonitor(time: time),
                policy: configuration.memoryPressurePolicy, bodies: configuration.partialBodies, registry: registry,
                log: log))
    }

    /// Downloads `url` to the file `destination` and returns when it is there.
    ///
    /// What an earlier request or process left of it is continued. Cancelling the task keeps the bytes.
    ///
    /// - Throws: Why the file is not there; ``DownloadError/Code/cancelled`` when the task was cancelled.
    public func download(from url: URL, to destination: URL) async throws(DownloadError) -> DownloadedFile {
        try await download(DownloadRequest(from: url, to: destination))
    }

    /// Carries out `request` and returns when its file is there; see ``download(from:to:)``.
    public func download(_ request: DownloadRequest) async throws(DownloadError) -> DownloadedFile {
        // A task that is cancelled already starts nothing.
        if Task.isCancelled { throw DownloadError(.cancelled, url: request.url) }
        return try await start(request).file
    }

    /// Downloads `url` into memory.
    ///
    /// It shares a transfer with others of the same resource, into files or memory. When it is left unfinished, what
    /// was received waits in ``Configuration/partialBodies`` for the next request.
    ///
    /// - Parameters:
    ///   - url: The http or https URL.
    ///   - maximumByteCount: The most bytes to accept; nil takes ``Configuration/maximumDataByteCount``.
    /// - Throws: Why the bytes are not there; ``DownloadError/Code/bodyTooLarge`` as soon as the server says that they
    ///   are too many, or too many have come.
    public func data(from url: URL, maximumByteCount: Int64? = nil) async throws(DownloadError) -> Data {
        var request = DownloadRequest(from: url)
        request.maximumByteCount = maximumByteCount
        return try await data(for: request)
    }

    /// Downloads what `request` asks for into memory, whatever its destination; see ``data(from:maximumByteCount:)``.
    public func data(for request: DownloadRequest) async throws(DownloadError) -> Data {
        var request = request
        request.destination = .memory
        let file = try await download(request)
        guard let data = file.data else { preconditionFailure("a download into memory ended without its bytes") }
        return data
    }

    /// Starts a download, or joins the one that fetches the same resource already.
    ///
    /// Returns at once. What is wrong with the request itself is thrown by the handle's ``Download/file`` and
    /// ``Download/events``, as ``DownloadError/Code/invalidRequest``.
    @discardableResult
    public func start(_ request: DownloadRequest) -> Download {
        startDownload(request)
    }

    /// Starts a download, or with `isRunning` false a paused one.
    ///
    /// - Parameter unfinished: What is on disk of the request, where something is known of it.
    func startDownload(
        _ request: DownloadRequest, isRunning: Bool = true, continuing unfinished: UnfinishedPartial? = nil
    ) -> Download {
        var request = request
        if request.destination == .memory, request.maximumByteCount == nil {
            request.maximumByteCount = configuration.maximumDataByteCount
        }
        if let error = request.validationError {
            return Download(request: request, source: .refused(error))
        }
        let key = TransferKey(request)
        let terms = SubscriberTerms(
            deadline: request.deadline ?? configuration.deadline,
            idleTimeout: request.idleTimeout ?? configuration.idleTimeout,
            retryPolicy: request.retryPolicy ?? configuration.retryPolicy)
        let joined = registry.join(
            key, request, terms, policy: request.duplicatePolicy ?? configuration.duplicatePolicy,
            isRunning: isRunning
        ) { number in
            let transfer = makeTransfer(number, key, request, at: unfinished?.location)
            if let unfinished { transfer.revive(unfinished) }
            return transfer
        }
        switch joined.concerning(request.url) {
        case .success(let joined):
            return Download(
                request: request, source: .transfer(joined.transfer, caller: joined.subscriber),
                isCoalesced: joined.isCoalesced)
        case .failure(let error):
            return Download(request: request, source: .refused(error))
        }
    }

    private func makeTransfer(
        _ number: Int, _ key: TransferKey, _ request: DownloadRequest, at place: PartialLocation?
    ) -> Transfer {
        let settings = TransferSettings(
            url: URL(string: key.url) ?? request.url,
            headers: request.callerHeaders,
            account: request.account,
            checksum: request.checksum,
            contentChangePolicy: request.contentChangePolicy ?? configuration.contentChangePolicy,
            progressInterval: configuration.progressInterval,
            windowLength: environment.transport.windowLength,
            decodesContent: environment.transport.decodesContent,
            waitsForOwner: (request.partialInUsePolicy ?? configuration.partialInUsePolicy).waits)
        let location = self.location(of: request, key, at: place)
        return Transfer(
            number: number, key: key, location: location, settings: settings, environment: environment,
            onResourcesReleased: registry.free, onFinished: registry.remove)
    }

    /// Where the bytes of `request` are kept until they are all there.
    ///
    /// - Parameter place: The site at which they were found, which counts more than where they would be put.
    func location(of request: DownloadRequest, _ key: TransferKey, at place: PartialLocation? = nil) -> PartialLocation
    {
        PartialLocation(
            request, key: key, partialsDirectory: configuration.partialsDirectory, spillDirectory: spillDirectory,
            place: place)
    }

    /// The transfers of which anything is open.
    var liveTransfers: [Transfer] { registry.transfers }

    // MARK: All downloads at once

    /// Pauses every download.
    public func pauseAll() {
        // Those who wait first: what a running one gives back would let them begin.
        let transfers = registry.transfers.map { (transfer: $0, waits: $0.withState { $0.machine.phase == .waiting }) }
        for (transfer, waits) in transfers where waits { transfer.forEachSubscriber(transfer.pause) }
        for (transfer, waits) in transfers where !waits { transfer.forEachSubscriber(transfer.pause) }
    }

    /// Resumes every paused download, in the order in which they were started.
    public func resumeAll() {
        for transfer in registry.transfers { transfer.forEachSubscriber(transfer.resume) }
    }

    /// Frees what paused downloads hold, as the system does when memory is short (``MemoryPressurePolicy``).
    ///
    /// Bodies in memory go to disk. Paused downloads whose handles are gone end. With `discardingBytes` the bytes of paused
    /// downloads are given up altogether, wherever they are.
    ///
    /// - Returns: How many bytes left memory.
    @discardableResult
    public func purgePaused(discardingBytes: Bool = false) async -> Int {
        let pressureResponder = environment.pressureResponder
        return await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                let count = pressureResponder.free(
                    toDisk: true, discarding: discardingBytes, because: "purging paused downloads")
                continuation.resume(returning: count)
            }
        }
    }

    /// Ends every download in order and frees the engine.
    ///
    /// Callers get ``DownloadError/Code/shutDown``; all bytes are kept. Returns when every file is closed. Requests
    /// that come later fail with the same error.
    public func shutdown() async {
        registry.close()
        for transfer in registry.transfers {
            transfer.shutDown(DownloadError(.shutDown))
        }
        await registry.drained()
        environment.pressureResponder.end()
        await environment.transport.shutdown()
    }
}

extension Downloader: CustomReflectable {
    /// A mirror without children, since the requests under way may hold secrets.
    public var customMirror: Mirror { .opaque(self) }
}
