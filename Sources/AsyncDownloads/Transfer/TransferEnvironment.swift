internal import Foundation

/// The values that all transfers of one downloader share.
final class TransferEnvironment: Sendable {
    let transport: any Transport
    let store: PartialStore
    /// The bandwidth limit of all transfers together.
    let bandwidth: BandwidthLimiter
    let scheduler: TransferScheduler
    let connections: ConnectionCoordinator
    let registry: TransferRegistry
    let time: any TimeSource
    let destinations: DestinationReservations
    let names: DirectoryNames
    let slowDisks: SlowDisks
    let keptLocations = KeptLocations()
    let log: Log
    /// The guard against suspension; nil on systems that never suspend the process.
    let suspensionGuard: SuspensionGuard?
    let pressureResponder: MemoryPressureResponder
    let network: NetworkWatch
    /// The settings of the downloader, for requests that don't specify their own.
    let configuration: Downloader.Configuration
    /// The containers of the app, which may move between launches; nil on systems without containers.
    let containers: AppContainers?
    private let seeds = Mutex(SplitMix64(seed: UInt64.random(in: .min ... .max)))
    /// The directory of all partial files, or nil if each is next to its destination.
    private let partialsDirectory: URL?
    /// The directory for bodies that have to be moved from memory to disk.
    private let spillDirectory: URL

    init(
        transport: any Transport, store: PartialStore, bandwidth: BandwidthLimiter, scheduler: TransferScheduler,
        connections: ConnectionCoordinator,
        registry: TransferRegistry, time: any TimeSource, destinations: DestinationReservations, log: Log,
        suspensionGuard: SuspensionGuard?, pressureResponder: MemoryPressureResponder,
        network: NetworkWatch, configuration: Downloader.Configuration,
        containers: AppContainers?, partialsDirectory: URL?, spillDirectory: URL
    ) {
        self.transport = transport
        self.store = store
        self.bandwidth = bandwidth
        self.scheduler = scheduler
        self.connections = connections
        self.registry = registry
        self.time = time
        self.destinations = destinations
        names = DirectoryNames()
        slowDisks = SlowDisks()
        self.log = log
        self.suspensionGuard = suspensionGuard
        self.pressureResponder = pressureResponder
        self.network = network
        self.configuration = configuration
        self.containers = containers
        self.partialsDirectory = partialsDirectory
        self.spillDirectory = spillDirectory
    }

    /// Returns the seed for the random delays of one transfer.
    ///
    /// The system's generator is called only once, because each call is a system call.
    func nextSeed() -> UInt64 {
        seeds.withLock { $0.next() }
    }

    /// Removes a transfer from the registry after its subscribers have received their outcomes.
    func transferFinished(_ number: Int) {
        // The activity ends before a shutdown can return.
        registry.remove(number) { suspensionGuard?.transferEnded() }
    }

    /// Returns the reason why a request for a permit is waiting; nil if it is only queued.
    func waitingReason(of ticket: PermitQueue.Ticket) -> WaitingReason? {
        guard let hindrance = scheduler.hindrance(of: ticket) else { return nil }
        let (now, date) = (time.now, Date(timeIntervalSince1970: Double(time.date.secondsSinceEpoch)))
        return switch hindrance {
        case .coolDown(let end): .coolDown(until: date.addingTimeInterval((end - now) / .seconds(1)))
        case .outage(let nextAttempt):
            .hostUnreachable(until: date.addingTimeInterval((nextAttempt - now) / .seconds(1)))
        case .shortCoolDown: nil
        case .silence: .noResponse
        }
    }

    var abandonment: AbandonmentPolicy { configuration.abandonmentPolicy }

    /// Returns the policy of a request for an existing file at its destination.
    func existingFilePolicy(of request: DownloadRequest) -> ExistingFilePolicy {
        request.existingFilePolicy ?? configuration.existingFilePolicy
    }

    /// Returns the policies of a request.
    func policies(of request: DownloadRequest) -> ResolvedPolicies { ResolvedPolicies(request, configuration) }

    /// Returns the settings of the transfer of a request.
    func settings(of request: DownloadRequest, _ key: TransferKey) -> TransferSettings {
        TransferSettings(
            // Most URLs are in normal form, and parsing a URL takes longer than comparing it.
            url: key.url == request.url.absoluteString ? request.url.absoluteURL : URL(string: key.url) ?? request.url,
            method: request.purpose == .head ? .head : .get,
            headers: request.callerHeaders,
            credentialOrigins: Set(request.credentialOrigins.compactMap { Origin(text: $0) }),
            account: request.account,
            checksum: request.checksum,
            contentChangePolicy: request.contentChangePolicy ?? configuration.contentChangePolicy,
            progressInterval: configuration.progressInterval,
            minimumRate: configuration.minimumRate > 0 ? configuration.minimumRate : nil,
            connections: request.connectionCount.map { .fixed($0) }
                ?? .automatic(maximum: configuration.largestConnectionCount),
            windowLength: request.purpose.windowLength(transport.windowLength),
            decodesContent: transport.decodesContent,
            waitsForOwner: (request.partialInUsePolicy ?? configuration.partialInUsePolicy).waits)
    }

    /// Returns the location at which the bytes of a request are kept until they are complete.
    ///
    /// - Parameter place: The location at which bytes were found, which takes precedence over the default one.
    func location(
        of request: DownloadRequest, _ key: TransferKey, at place: PartialLocation? = nil
    ) -> PartialLocation {
        PartialLocation(
            request, key: key, partialsDirectory: partialsDirectory, spillDirectory: spillDirectory,
            containers: containers, place: place)
    }
}
