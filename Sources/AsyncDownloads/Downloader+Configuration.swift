public import struct Foundation.URL

extension Downloader {
    /// How a downloader behaves where a request says nothing else.
    public struct Configuration: Sendable {
        /// The engine.
        ///
        /// Default: URLSession on Apple's systems, AsyncHTTPClient on Linux where it is built in.
        public var transport = TransportChoice.automatic

        /// How many transfers run at once; the rest wait.
        ///
        /// Default: 6.
        public var maximumConcurrentTransfers = 6

        /// How many of them talk to one host.
        ///
        /// Default: 6.
        public var maximumConcurrentTransfersPerHost = 6

        /// What to do about failures that may pass.
        public var retryPolicy = RetryPolicy.default

        /// How long no byte may arrive before an attempt is given up.
        ///
        /// Default: 30 seconds.
        public var idleTimeout: Duration? = .seconds(30)

        /// How long a whole download may take.
        ///
        /// Default: no limit.
        public var deadline: Duration?

        /// What to do when a resource is being downloaded already.
        ///
        /// Default: coalesce.
        public var duplicatePolicy = DuplicatePolicy.coalesce

        /// What to do when another process has the unfinished file.
        ///
        /// Default: wait.
        public var inUsePolicy = InUsePolicy.wait

        /// What to do when the server names another validator for a resource half-way.
        ///
        /// Default: restart.
        public var contentChangePolicy = ContentChangePolicy.restart

        /// What happens to a transfer that its last caller has left.
        ///
        /// Default: pause.
        public var abandonmentPolicy = AbandonmentPolicy.pause

        /// What finished and unfinished files survive.
        ///
        /// Default: the loss of power.
        public var durability = Durability.powerLoss

        /// Where unfinished files are kept.
        ///
        /// Default: nil, beside each destination; bodies wanted in memory that have to leave it go to the user's caches.
        public var partialsDirectory: URL?

        /// Where the beginnings of bodies wait whose download into memory was left.
        ///
        /// Default: one store shared by all downloaders.
        public var partialBodies = PartialBodyStore.shared

        /// The most bytes of a download into memory whose request says nothing else.
        ///
        /// Default: 32 MiB.
        public var maximumDataByteCount: Int64 = 32 << 20

        /// Where to learn how short memory is.
        ///
        /// Default: from the system.
        public var memoryPressure = MemoryPressureSource.automatic

        /// What to free then.
        ///
        /// Default: what downloads that do not run hold in memory.
        public var memoryPressurePolicy = MemoryPressurePolicy.release

        /// The least time between two progress events of one download.
        ///
        /// Default: a tenth of a second.
        public var progressInterval = Duration.milliseconds(100)

        /// Creates the default configuration.
        public init() {}
    }

    /// Which engine performs the exchanges.
    public struct TransportChoice: Sendable, Hashable {
        let kind: Kind

        enum Kind { case automatic, urlSession, httpClient }

        /// URLSession on Apple's platforms, AsyncHTTPClient elsewhere.
        ///
        /// AsyncHTTPClient needs the trait `ServerStack`. Elsewhere without the trait, URLSession takes its place, and the
        /// process writes one warning to standard error.
        public static let automatic = Self(kind: .automatic)
        /// Foundation's URLSession.
        ///
        /// On Linux, up to Swift 6.3, a response with trailers or one that ends inside its head ends the process, one
        /// that ignores ranges may take as much memory as it is long, and the first exchange of each connection keeps a
        /// thread busy until it ends, also where nothing arrives.
        public static let urlSession = Self(kind: .urlSession)
        /// AsyncHTTPClient; without the trait `ServerStack` every request fails with
        /// ``DownloadError/Code/unsupported``.
        public static let httpClient = Self(kind: .httpClient)
    }
}
