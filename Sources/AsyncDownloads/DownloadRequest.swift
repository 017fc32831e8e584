public import struct Foundation.Date
public import struct Foundation.URL

/// A request for a resource, with the destination of the file and the conditions of the download.
///
/// ```swift
/// var request = DownloadRequest(from: url, to: destination, checksum: .sha256("9f86d08…"))
/// request.headers["Authorization"] = "Bearer …"
/// ```
public struct DownloadRequest: Sendable, Hashable {
    /// The http or https URL of the resource; its fragment isn't sent.
    ///
    /// A user name and a password in the URL are removed from it. Unless ``headers`` contain Authorization, they are
    /// percent-decoded and sent in UTF-8 as Basic authentication (RFC 7617), which is a secret header like any other.
    /// If they can't be sent in this way, the request fails with ``DownloadError/Code/invalidRequest``.
    public var url: URL {
        get { fields.url }
        set {
            let (url, credentials) = newValue.separatingCredentials()
            fields.url = url
            if options.urlCredentials != credentials { options.urlCredentials = credentials }
        }
    }

    /// The destination of the finished file.
    public var destination: Destination {
        get { fields.destination }
        set { fields.destination = newValue }
    }

    /// The headers to send.
    ///
    /// Headers that the package sets itself, such as Range, If-Range, If-Match, Accept-Encoding, and Host, are refused
    /// with ``DownloadError/Code/invalidRequest``.
    ///
    /// Every header is treated as a secret except Accept, Accept-Language, User-Agent, Cache-Control, Pragma,
    /// Want-Repr-Digest, Want-Content-Digest, DNT, Sec-GPC, and the headers in ``nonsecretHeaders``. A secret header
    /// isn't sent to another origin when ``url`` is redirected, and it is never written to disk or to a log.
    public var headers: HeaderFields {
        get { fields.headers }
        set { fields.headers = newValue }
    }

    /// The names of additional ``headers`` that aren't secret.
    ///
    /// These headers may be sent to other origins, recorded on disk, and logged. Case doesn't matter. Other headers
    /// aren't recorded, so a header that selects a representation must be listed here or set again when a later process
    /// continues the download. Authorization, Cookie, and Proxy-Authorization are refused here with
    /// ``DownloadError/Code/invalidRequest``.
    public var nonsecretHeaders: Set<String> {
        get { options.nonsecretHeaders }
        set { options.nonsecretHeaders = newValue }
    }

    /// A stable name for the user whose credentials ``headers`` contain, such as a user number; not a secret itself.
    ///
    /// The account is recorded with the unfinished file. Requests of one account share a transfer and continue each
    /// other's bytes even if a token in their headers has changed; requests of two accounts never do. Without an
    /// account, the bytes of requests with secret headers are continued with other header values, or by another
    /// process, only if the object is proven to be the same: by ``checksum``, an equal `Repr-Digest`, or equal first
    /// and last 64 KiB, which are fetched again. Different bytes are discarded with
    /// ``RestartReason/credentialsChanged``.
    public var account: String? {
        get { options.account }
        set { options.account = newValue }
    }

    /// The app's own data about the download, such as the identifier of an episode, at most 4 KiB.
    ///
    /// The data is recorded with the received bytes, and in the journal of a background session, so it must not contain
    /// secrets. ``Downloader/restore(in:includingSubdirectories:prepare:)`` and ``Downloader/restored()`` return it
    /// with the request. The data doesn't affect the download. A request with more data fails with
    /// ``DownloadError/Code/invalidRequest``.
    public var userInfo: [String: String] {
        get { options.userInfo }
        set { options.userInfo = newValue }
    }

    /// The expected digest of the whole file; the destination is unchanged if the digest differs.
    public var checksum: Checksum? {
        get { options.checksum }
        set { options.checksum = newValue }
    }

    /// The policy for a resource that is already being downloaded; `nil` uses the downloader's policy.
    public var duplicatePolicy: DuplicatePolicy? {
        get { options.duplicatePolicy }
        set { options.duplicatePolicy = newValue }
    }

    /// The source of a fresh URL, used if this URL has expired or the server refuses it.
    public var refreshURL: URLRefresh? {
        get { options.refreshURL }
        set { options.refreshURL = newValue }
    }

    /// The date until which ``url`` can be used, if it is known in advance.
    public var urlExpiration: Date? {
        get { options.urlExpiration }
        set { options.urlExpiration = newValue }
    }

    /// A name that identifies the resource in place of ``url``.
    ///
    /// Requests with the same identity share a transfer and continue each other's bytes, regardless of their URLs, if
    /// their nonsecret headers and the names of their destinations are the same, and their ``account`` is the same or
    /// missing in both. For example, tomorrow's signed URL continues today's bytes:
    ///
    /// ```swift
    /// var request = DownloadRequest(from: signedURL, to: destination)
    /// request.identity = "film-4711"
    /// ```
    ///
    /// The identity is written to disk next to the bytes. Bytes from another URL are used if the server proves, by the
    /// same validator or `Repr-Digest`, that it has the same object; otherwise, the download restarts. If a request
    /// joins a running transfer, the transfer switches to that request's URL when its own URL is refused, or when it
    /// continues after a pause or an error.
    public var identity: String? {
        get { options.identity }
        set { options.identity = newValue }
    }

    /// The name of the file in a destination directory if the server suggests none.
    ///
    /// The property applies to requests of ``init(from:into:headers:checksum:priority:)``. The name is sanitized like
    /// one that a server suggests; an unusable name is ignored. If a file of another resource has this name, the file
    /// gets a numbered variant, such as `image-2.jpg` for `image.jpg`. Set the property to name files independently of
    /// the order in which they arrive. Default: the last component of the path of ``url``.
    public var defaultFileName: String {
        get { FileName.unsuggested(givenFileName, from: url) }
        set { givenFileName = newValue }
    }

    /// The ``defaultFileName`` that the caller has set, or `nil` if the name is derived from ``url``.
    var givenFileName: String? {
        get { options.defaultFileName }
        set { options.defaultFileName = newValue }
    }

    /// The policy for an unfinished file that another process is writing; `nil` uses the downloader's policy.
    ///
    /// A request that joins a running transfer uses the policy that the transfer started with.
    public var partialInUsePolicy: PartialInUsePolicy? {
        get { options.partialInUsePolicy }
        set { options.partialInUsePolicy = newValue }
    }

    /// The policy for an existing file at the destination; `nil` uses the downloader's policy.
    ///
    /// If several downloads share a transfer, each has its own policy.
    public var existingFilePolicy: ExistingFilePolicy? {
        get { options.existingFilePolicy }
        set { options.existingFilePolicy = newValue }
    }

    /// The policy for a validator that changes during the download; `nil` uses the downloader's policy.
    ///
    /// A request that joins a running transfer uses the policy that the transfer started with.
    public var contentChangePolicy: ContentChangePolicy? {
        get { options.contentChangePolicy }
        set { options.contentChangePolicy = newValue }
    }

    /// The settings of the download in a background session; other downloads ignore them.
    public var background: BackgroundTaskOptions {
        get { options.background }
        set { options.background = newValue }
    }

    /// The directory from which the request was restored, if any.
    var origin: RestoredOrigin {
        get { options.origin }
        set { options.origin = newValue }
    }

    /// Everything that the request consists of.
    private var content: CopyOnWrite<Fields>

    var fields: Fields {
        get { content.value }
        _modify { yield &content.value }
    }

    var options: Options {
        get { content.value.options.value }
        _modify { yield &content.value.options.value }
    }

    /// Creates a request to download `url` to the file `destination`.
    ///
    /// The destination is a file URL whose directory exists or can be created.
    public init(
        from url: URL, to destination: URL, headers: HeaderFields = [:], checksum: Checksum? = nil,
        priority: Priority = .normal
    ) {
        self.init(from: url, to: .file(destination), headers: headers, checksum: checksum, priority: priority)
    }

    /// Creates a request to download `url` into `directory`, under the name that the server suggests.
    ///
    /// The name comes from Content-Disposition (RFC 6266) or, without it, is ``defaultFileName``. It is sanitized, so
    /// the file is never outside the directory.
    public init(
        from url: URL, into directory: URL, headers: HeaderFields = [:], checksum: Checksum? = nil,
        priority: Priority = .normal
    ) {
        self.init(from: url, to: .directory(directory), headers: headers, checksum: checksum, priority: priority)
    }

    /// Creates a request to download `url` to a file, into a directory, or into memory.
    public init(
        from url: URL, to destination: Destination, headers: HeaderFields = [:], checksum: Checksum? = nil,
        priority: Priority = .normal
    ) {
        content = CopyOnWrite(Fields(url: url, destination: destination, headers: headers, priority: priority))
        if let checksum { self.checksum = checksum }
    }
}

extension DownloadRequest {
    /// The destination of a finished file.
    public enum Destination: Sendable, Hashable {
        /// The file with exactly this URL.
        case file(URL)
        /// A file in this directory, with a name chosen from the response.
        case directory(URL)
        /// Memory: the bytes are delivered as ``DownloadedFile/data``, and no file is created.
        ///
        /// The length of the body is limited by ``DownloadRequest/maximumByteCount`` or, if that is `nil`, by the
        /// downloader's ``Downloader/Configuration/maximumDataByteCount``.
        case memory
    }

    /// The priority of a queued download.
    ///
    /// Downloads of lower priority don't starve: every eighth transfer that starts is the oldest queued one.
    public struct Priority: Sendable, Hashable, Comparable {
        let rank: Int8

        /// The highest priority.
        public static let high = Self(rank: 1)
        /// The normal priority, which is the default.
        public static let normal = Self(rank: 0)
        /// The lowest priority, for downloads that should normally start after all others.
        public static let low = Self(rank: -1)

        /// Returns whether `left` is less urgent than `right`.
        public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
    }
}
