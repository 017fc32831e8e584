public import struct Foundation.URL

#if ServerStack
public import Logging
#endif

extension Downloader {
    /// The settings of a downloader, which apply where a request doesn't specify its own.
    ///
    /// ```swift
    /// var configuration = Downloader.Configuration()
    /// configuration.maximumConcurrentTransfersPerHost = 4
    /// configuration.networkAccess = NetworkAccess(allowsCellular: false)
    /// let downloader = Downloader(configuration: configuration)
    /// ```
    public struct Configuration: Sendable {
        /// The HTTP engine.
        ///
        /// Default: URLSession on Apple platforms; on Linux, the package's own engine if the build includes it.
        public var transport = TransportChoice.automatic

        /// The root certificates that are trusted in addition to the system's roots.
        ///
        /// Only ``TransportChoice/nio`` and ``TransportChoice/httpClient`` support them. With URLSession or a
        /// background session, every request of a downloader with additional trust roots fails with
        /// ``DownloadError/Code/unsupported``.
        ///
        /// Default: none.
        public var additionalTrustRoots: TrustRoots?

        /// The certificate and the key that are presented to servers that request a certificate; see
        /// ``ClientIdentity``.
        ///
        /// With another transport than ``TransportChoice/nio``, or with a background session, every request fails with
        /// ``DownloadError/Code/unsupported``.
        ///
        /// Default: none.
        public var clientIdentity: ClientIdentity?

        /// The public keys that are expected of servers, by the name or the address of the host, without a port.
        ///
        /// The certificate of a host with an entry must be trusted as usual and have one of these keys. Otherwise, the
        /// connection ends before a request is sent, and the download fails with
        /// ``DownloadError/Code/secureConnectionFailed``. An entry applies to exactly this host, including after a
        /// redirect to it. Include the key of a second certificate, so that the server can replace its certificate. If
        /// a host is neither a name nor an address, every request fails with ``DownloadError/Code/invalidRequest``.
        ///
        /// With another transport than ``TransportChoice/nio``, or with a background session, every request fails with
        /// ``DownloadError/Code/unsupported``.
        ///
        /// Default: none.
        public var pinnedPublicKeys: [String: Set<PublicKeyHash>] = [:]

        /// The closure that answers the connection challenges of URLSession on Apple platforms; `nil` leaves them to
        /// the system.
        ///
        /// See ``ConnectionChallenge``. The closure is called for each connection whose server presents or requests a
        /// certificate, on any thread. After a redirect to an origin that receives no secret headers, no client
        /// certificate is presented, whatever the closure answers. With another transport than
        /// ``TransportChoice/urlSession``, on Linux, or with a background session, every request fails with
        /// ``DownloadError/Code/unsupported``.
        ///
        /// Default: `nil`.
        public var challenge: (@Sendable (ConnectionChallenge) async -> ConnectionChallenge.Answer)?

        /// The kind of internet addresses to which connections are made.
        ///
        /// With another transport than ``TransportChoice/nio``, or with a background session, every request of a
        /// downloader with a value other than ``AddressFamily/any`` fails with ``DownloadError/Code/unsupported``.
        ///
        /// Default: ``AddressFamily/any``.
        public var addressFamily = AddressFamily.any

        /// The proxy of all requests; see ``ProxyChoice``.
        ///
        /// Default: ``ProxyChoice/environment``.
        public var proxy = ProxyChoice.environment

        /// The maximum number of transfers that run at the same time; other transfers wait.
        ///
        /// A transfer that has received all bytes doesn't count while it waits for the disk to verify or place the
        /// file. A transfer whose server has sent no response to any request for two seconds doesn't count for transfers
        /// from other servers, unless the number is 1. At most twice as many transfers as this number have open files,
        /// and, in addition, at most sixteen times as many of servers that send no response, up to 256; they are fewer
        /// if the process may open few files. When such servers respond, their transfers continue, and then more
        /// transfers than this number receive bytes. A number below 1 counts as 1.
        ///
        /// Default: `nil`, which means 64, or an eighth of the number of files that the process may open if that is
        /// less.
        public var maximumConcurrentTransfers: Int?

        /// The maximum number of running transfers for each host; `nil` for a number that adapts to the host.
        ///
        /// Transfers that verify or place their files usually don't count.
        ///
        /// An adaptive number starts at 6. It doubles each time that many transfers complete successfully while others
        /// are queued, up to an upper bound of 64. If the host refuses requests with 429 or 503, the bound is halved, and
        /// the number starts low again; the bound then rises in steps of several seconds. The bound is halved, too, if
        /// the host often resets connections or sends no response. A number that you set is used exactly.
        ///
        /// Default: `nil`.
        public var maximumConcurrentTransfersPerHost: Int?

        /// The maximum number of evenly spaced requests to one host in a period; `nil` for no limit.
        ///
        /// Redirects, retries, and the requests for parts of a file count as requests to their hosts. A transfer that
        /// waits because of the pace keeps its position in the queue, and doesn't count as running.
        ///
        /// Default: no limit.
        public var requestPace: RequestPace?

        /// The maximum rate at which all downloads together receive bytes.
        ///
        /// ``Downloader/bandwidthLimit`` changes the limit while downloads run. A value below 1 counts as 1.
        ///
        /// Default: ``ByteRate/unlimited``.
        public var bandwidthLimit = ByteRate.unlimited

        /// The maximum number of connections for parts of one large file, from 1 to 16.
        ///
        /// The value applies if the request has no ``DownloadRequest/connectionCount``. A transfer starts with one
        /// connection. It tries more while at least 8 MiB and two seconds are left, no transfer waits, and neither the
        /// disk nor a bandwidth limit slows it down. It keeps the connections that increase its rate by more than the
        /// other transfers lose. Transfers of several large files try more connections in turn. Transfers from the same
        /// host share the connections that it accepts, at most 16, minus the connections of requests with a
        /// ``DownloadRequest/connectionCount``. Under memory pressure, the number is halved or reduced to one until the
        /// pressure ends, at most for a minute after the last report, unless ``memoryPressurePolicy`` is
        /// ``MemoryPressurePolicy/ignore``. A value outside the range counts as the nearest one. A value of 1 disables
        /// additional connections.
        ///
        /// Default: 16.
        public var maximumConnectionsPerTransfer = 16

        /// The rate in bytes per second below which a connection is replaced by a new one; 0 disables replacement.
        ///
        /// A connection is replaced if it is slower in two successive windows of 15 seconds, and if the received bytes
        /// can be continued; the new connection continues where the old one stopped. Time in which a bandwidth limit or
        /// this process holds the connection back doesn't count. If the new connection is hardly faster, the number of
        /// slow windows before the next replacement doubles, up to 64. A replacement uses no retry.
        ///
        /// Default: 0.
        public var minimumRate: Int64 = 0

        /// The policy for retries.
        ///
        /// Default: ``RetryPolicy/default``.
        public var retryPolicy = RetryPolicy.default

        /// The maximum time for which downloads wait for an unreachable host that has answered earlier in this process.
        ///
        /// If a connection is refused or can't be established, or if the name can't be resolved, one request at a time
        /// is sent to the origin, after delays of at most 5 seconds, and all of its downloads wait for the result. The
        /// wait doesn't use retries. After this time, all of them fail with a retryable error. If the origin has never
        /// answered, each download instead waits for as many attempts as its ``RetryPolicy`` permits; an attempt of any
        /// of the downloads counts. A download whose policy permits no retries doesn't wait, and a deadline ends its
        /// download in any case.
        ///
        /// Default: 30 seconds.
        public var hostPatience: Duration = .seconds(30)

        /// The maximum time without a received byte before an attempt fails.
        ///
        /// Default: 30 seconds.
        public var idleTimeout = TimeLimit.seconds(30)

        /// The maximum time for a whole download.
        ///
        /// Default: ``TimeLimit/unlimited``.
        public var deadline = TimeLimit.unlimited

        /// The networks that downloads may use, and what happens while none of them is available.
        ///
        /// Default: all networks are permitted; downloads wait until one is available.
        public var networkAccess = NetworkAccess()

        /// The policy for a resource that is already being downloaded.
        ///
        /// Default: ``DuplicatePolicy/coalesce``.
        public var duplicatePolicy = DuplicatePolicy.coalesce

        /// The policy for an unfinished file that another process is writing.
        ///
        /// Default: ``PartialInUsePolicy/wait``.
        public var partialInUsePolicy = PartialInUsePolicy.wait

        /// The policy for an existing file at the destination.
        ///
        /// Default: ``ExistingFilePolicy/reuse``.
        public var existingFilePolicy = ExistingFilePolicy.reuse

        /// The policy for a validator that changes during a download.
        ///
        /// Default: ``ContentChangePolicy/restart``.
        public var contentChangePolicy = ContentChangePolicy.restart

        /// The policy for a transfer whose last download was canceled.
        ///
        /// Default: ``AbandonmentPolicy/pause``.
        public var abandonmentPolicy = AbandonmentPolicy.pause

        /// The failures that finished and unfinished files survive.
        ///
        /// Default: ``Durability/powerLoss``.
        public var durability = Durability.powerLoss

        /// The attributes of finished files.
        ///
        /// A background session records the attributes when a download starts, so they also apply if a later process of
        /// the app places the file.
        ///
        /// Default: the attributes of newly written files.
        public var fileAttributes = FileAttributes()

        /// The directory in which unfinished files are kept.
        ///
        /// Default: `nil`. Each unfinished file is then kept next to its destination, and bodies that are moved from
        /// memory to disk are kept in a directory of this app in the user's caches directory.
        ///
        /// A sandboxed app on macOS may access a file that the user has chosen in a save panel, but no other file in
        /// its directory. Set this property to a directory in the app's container then (see <doc:WhatIsKept>).
        public var partialsDirectory: URL?

        /// The identifiers of the app groups whose containers contain destinations.
        ///
        /// An update of an app moves its containers. With ``partialsDirectory``, a destination in the container of one
        /// of these app groups is recorded relative to the container, so that
        /// ``Downloader/restore(in:includingSubdirectories:prepare:)`` finds its new path. A destination in the app's
        /// own container is always recorded in this way. Only Apple platforms have containers. Default: none.
        public var appGroupIdentifiers: Set<String> = []

        /// The store for the received bytes of unfinished downloads into memory.
        ///
        /// Default: ``PartialBodyStore/shared``, one store for all downloaders.
        public var partialBodies = PartialBodyStore.shared

        /// The maximum number of bytes of a download into memory whose request doesn't specify a limit.
        ///
        /// Default: 32 MiB.
        public var maximumDataByteCount: Int64 = 32 << 20

        /// The source of memory-pressure notifications.
        ///
        /// Default: ``MemoryPressureSource/automatic``, the memory pressure of the system.
        public var memoryPressure = MemoryPressureSource.automatic

        /// The policy that decides what the downloader releases under memory pressure.
        ///
        /// Default: ``MemoryPressurePolicy/release``, which releases the memory of downloads that aren't running.
        public var memoryPressurePolicy = MemoryPressurePolicy.release

        /// A closure that receives the messages for the program's operator instead of the system's log; `nil` for none.
        ///
        /// The closure is called on any thread, and delays the download until it returns. Messages about the system's
        /// memory pressure always go to the system's log, because all downloaders share them.
        ///
        /// Default: `nil`. Messages then go to the `logger`, if one is set. Otherwise, they go to the unified log on
        /// Apple's platforms, with the subsystem `io.github.async-downloads` and with hosts and paths as private data,
        /// and elsewhere to a logger of swift-log with the label `async-downloads`. On Linux without the trait
        /// `ServerStack`, nothing is logged.
        public var onLog: (@Sendable (LogMessage) -> Void)?

        #if ServerStack
        /// The logger that receives the messages for the program's operator, with its own metadata; `nil` for the
        /// system's log.
        ///
        /// If a message concerns a URL or an error, it has the metadata `url`, without user and query, or `error`.
        /// ``onLog`` takes precedence. This property requires the trait `ServerStack`.
        ///
        /// Default: `nil`.
        public var logger: Logging.Logger?
        #endif

        /// A closure that receives the measurements of each request when it has ended; `nil` for none.
        ///
        /// The closure is called once for each request that was passed to the engine, on any thread and before the
        /// download continues, so it must not block. A request that the engine sends again because an idle connection
        /// was closed counts once. Requests of a background session aren't reported. See ``ExchangeRecord``.
        ///
        /// Default: `nil`.
        public var onExchange: (@Sendable (ExchangeRecord) -> Void)?

        /// The minimum time between two progress events of one download.
        ///
        /// Default: 100 milliseconds.
        public var progressInterval = Duration.milliseconds(100)

        /// The background session of the system that carries out the downloads, or `nil` for downloads in this process.
        var backgroundSession: BackgroundSessionChoice?

        /// Creates a configuration with the default values.
        public init() {}
    }
}
