public import struct Foundation.Date
public import struct Foundation.URL

/// What a caller asks for: a resource, where it is to go, and under which conditions.
///
/// ```swift
/// var request = DownloadRequest(from: url, to: destination, checksum: .sha256("9f86d08…"))
/// request.headers["Authorization"] = "Bearer …"
/// ```
public struct DownloadRequest: Sendable, Hashable {
    /// The http or https URL; its fragment is not sent.
    public var url: URL

    /// Where the finished file goes.
    public var destination: Destination

    /// Headers to send.
    ///
    /// Those that the package must govern itself (Range, If-Range, If-Match, Accept-Encoding, Host and the like) are
    /// refused with ``DownloadError/Code/invalidRequest``.
    ///
    /// Every field is taken for a secret except Accept, Accept-Language, User-Agent, Cache-Control, Pragma,
    /// Want-Repr-Digest, Want-Content-Digest, DNT, Sec-GPC and those that ``nonsecretHeaders`` names. A secret stays with
    /// the origin of ``url`` when a redirect leads to another one, and is never written to disk or to a log.
    public var headers: HeaderFields

    /// The names of further ``headers`` that are no secret: they may cross origins, be recorded on disk and be logged.
    ///
    /// Case does not matter. Without such a name a header that selects a representation must be set anew when a later
    /// process continues the download. Authorization, Cookie and Proxy-Authorization are refused here with
    /// ``DownloadError/Code/invalidRequest``.
    public var nonsecretHeaders: Set<String> = []

    /// A stable name for whose credentials ``headers`` hold, such as a user's number; not a secret itself.
    ///
    /// It is recorded with the unfinished file. Requests of one account share a transfer and continue each other's bytes
    /// although a token among their headers has changed; requests of two accounts never do. Without it the bytes of
    /// requests with secret headers are continued under other values, or by another process, only after proof that the
    /// object is the same: ``checksum``, an equal Repr-Digest, or equal first and last 64 KiB, which are fetched again.
    /// Bytes that turn out to be different are given up with ``RestartReason/credentialsChanged``.
    public var account: String?

    /// The digest that the whole file must have; the destination is not touched when it differs.
    public var checksum: Checksum?

    /// Which waiting download goes first when there are more than may run at once.
    ///
    /// A transfer that several handles share has the highest priority of them.
    public var priority: Priority

    /// The most bytes to accept; a longer body fails with ``DownloadError/Code/bodyTooLarge``.
    ///
    /// Where several callers share a transfer, each has its own limit. Default: no limit for a file.
    public var maximumByteCount: Int64?

    /// What to do about failures that may pass; nil takes the downloader's ``Downloader/Configuration/retryPolicy``.
    ///
    /// Where several handles share a transfer, the most patient policy counts.
    public var retryPolicy: RetryPolicy?

    /// How long no byte may arrive before the attempt is given up; nil takes the downloader's.
    ///
    /// Where several handles share a transfer, the longest counts. Time in which this process cannot take bytes in, such as
    /// that of a slow disk, does not count.
    public var idleTimeout: Duration?

    /// How long the whole download may take, retries and waiting included; nil takes the downloader's.
    ///
    /// It ends this handle with ``DownloadError/Code/deadlineExceeded`` and no other one of the same transfer. Time in which
    /// the handle is paused does not count, nor does the verification of a complete file.
    public var deadline: Duration?

    /// What to do when the resource is being downloaded already; nil takes the downloader's.
    public var duplicatePolicy: DuplicatePolicy?

    /// Whom to ask for a fresh URL when the server refuses this one, or its time is over.
    public var refreshURL: URLRefresh?

    /// Until when ``url`` can be used, where that is known beforehand.
    public var urlExpiration: Date?

    /// A name of your own for the resource, which stands for it in place of ``url``.
    ///
    /// Requests of one identity share a transfer, and go on from each other's bytes, whatever their URLs are, as long as
    /// their headers and the destination's name are the same. So tomorrow's signed URL continues today's bytes:
    ///
    /// ```swift
    /// var request = DownloadRequest(from: signedURL, to: destination)
    /// request.identity = "film-4711"
    /// ```
    ///
    /// It is written to disk beside the bytes. Bytes that came from another URL are used when the server proves, by the
    /// same validator or `Repr-Digest`, that it has the same object; else the download begins again. A running transfer
    /// takes the URL of a request that joins it when its own is refused, or when it goes on after a pause or an error.
    public var identity: String?

    /// What to do when another process has the unfinished file; nil takes the downloader's.
    ///
    /// A request that joins a running transfer takes what that one began with.
    public var partialInUsePolicy: PartialInUsePolicy?

    /// What to do when the server names another validator for the resource; nil takes the downloader's.
    ///
    /// A request that joins a running transfer takes what that one began with.
    public var contentChangePolicy: ContentChangePolicy?

    /// Where the request was restored from.
    var origin = RestoredOrigin()

    /// Asks for `url` as a file at `destination`, a file URL whose directory exists or can be created.
    public init(
        from url: URL, to destination: URL, headers: HeaderFields = [:], checksum: Checksum? = nil,
        priority: Priority = .normal
    ) {
        self.init(from: url, at: .file(destination), headers: headers, checksum: checksum, priority: priority)
    }

    /// Asks for `url` as a file in `directory`, under the name that the server suggests.
    ///
    /// The name is that of Content-Disposition (RFC 6266), else the last component of the URL's path, made harmless:
    /// it never leaves the directory.
    public init(
        from url: URL, into directory: URL, headers: HeaderFields = [:], checksum: Checksum? = nil,
        priority: Priority = .normal
    ) {
        self.init(from: url, at: .directory(directory), headers: headers, checksum: checksum, priority: priority)
    }

    /// Asks for `url` in memory; see ``Downloader/data(for:)``.
    ///
    /// The body is bounded by ``maximumByteCount`` or, without one, by the downloader's
    /// ``Downloader/Configuration/maximumDataByteCount``.
    public init(
        from url: URL, headers: HeaderFields = [:], checksum: Checksum? = nil, priority: Priority = .normal
    ) {
        self.init(from: url, at: .memory, headers: headers, checksum: checksum, priority: priority)
    }

    init(from url: URL, at destination: Destination, headers: HeaderFields, checksum: Checksum?, priority: Priority) {
        self.url = url
        self.destination = destination
        self.headers = headers
        self.checksum = checksum
        self.priority = priority
    }
}

extension DownloadRequest {
    /// Where a finished file goes.
    public enum Destination: Sendable, Hashable {
        /// Exactly there.
        case file(URL)
        /// Into this directory, under a name chosen from the response.
        case directory(URL)
        /// Nowhere: the bytes are wanted in memory, as ``DownloadedFile/data``.
        case memory
    }

    /// The order in which waiting downloads get their turn.
    ///
    /// A lower priority never starves: every eighth turn goes to the oldest request.
    public struct Priority: Sendable, Hashable, Comparable {
        let rank: Int

        /// Before everything else.
        public static let high = Self(rank: 1)
        /// The default.
        public static let normal = Self(rank: 0)
        /// When nothing else waits.
        public static let low = Self(rank: -1)

        /// Orders priorities by their urgency.
        public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
    }
}

/// The directory in which the checkpoint of a restored request was found, to which its file is confined.
///
/// A checkpoint may have been planted there, and so may a symbolic link after it was read. It is no part of what a request
/// asks for, so that all values are equal.
struct RestoredOrigin: Sendable, Hashable {
    var directory: String?

    static func == (left: Self, right: Self) -> Bool { true }

    func hash(into hasher: inout Hasher) {}
}
