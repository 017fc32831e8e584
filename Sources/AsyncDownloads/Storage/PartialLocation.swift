/// The location of a partial file, and its request.
struct PartialLocation: Sendable, Hashable {
    /// The medium that holds the bytes while they arrive.
    enum Medium: Sendable, Hashable {
        case disk
        /// Memory, while no subscriber requests a file.
        case memory
    }

    /// The absolute path of the directory for the hidden files, which ``PartialStore/open(_:continuing:)`` creates if
    /// necessary.
    var directory: String
    /// The sanitized, recognizable name that becomes a part of the hidden files' names.
    var baseName: String
    /// The request whose bytes the partial file contains.
    var request: RequestRecord
    /// The headers that are sent but never recorded.
    var secretHeaders: HeaderFields
    var medium: Medium

    init(
        directory: String, baseName: String, request: RequestRecord, secretHeaders: HeaderFields = [:],
        medium: Medium = .disk
    ) {
        self.directory = directory
        self.baseName = baseName
        self.request = request
        self.secretHeaders = secretHeaders
        self.medium = medium
    }
}

/// The record of a request in a checkpoint: sufficient to repeat the request, but without secrets.
struct RequestRecord: Sendable, Hashable {
    /// The requested URL without its fragment.
    var url: String
    /// The nonsecret headers (``DownloadRequest/nonsecretHeaders``), as name and value pairs.
    var headers: [[String]]
    /// Whether the request also had secret headers, which a later process has to supply again.
    var hasSecretHeaders: Bool
    /// The text of a ``RecordedDestination``.
    var destination: String
    /// Whether `destination` is a directory in which the file's name has yet to be chosen.
    var choosesName: Bool
    /// The caller's name for the file in that directory if the server suggests none; nil for the name from the URL.
    var defaultFileName: String?
    /// The expected digest of the whole file, as `algorithm=hex`.
    var checksum: String?
    /// The caller's stable name of the resource, which replaces the URL as its key.
    var identity: String?
    /// The caller's stable name for the user whose credentials are sent.
    var account: String?
    /// The downloads of the bytes; empty if none is known.
    var subscribers: [RecordedSubscriber] = []

    init(
        url: String, headers: [[String]] = [], hasSecretHeaders: Bool = false, destination: String,
        choosesName: Bool = false, defaultFileName: String? = nil, checksum: String? = nil, identity: String? = nil,
        account: String? = nil
    ) {
        self.url = url
        self.headers = headers
        self.hasSecretHeaders = hasSecretHeaders
        self.destination = destination
        self.choosesName = choosesName
        self.defaultFileName = defaultFileName
        self.checksum = checksum
        self.identity = identity
        self.account = account
    }

    /// The key of the requested resource, which identifies the bytes of this request.
    var key: ResourceKey { ResourceKey(url: url, identity: identity, headers: headers, account: account) }
}

/// The result of opening a partial file.
enum PartialFinding: Sendable, Hashable {
    /// Nothing was found; this is the first download.
    case nothing
    /// Bytes to continue from.
    case bytes(Representation, IntervalSet)
    /// Unusable files were found and removed; `discarded` is the number of bytes in them.
    case unusable(RestartReason, discarded: Int64)
}

/// A partial file of an unfinished download, as found on disk.
struct UnfinishedPartial: Sendable, Hashable {
    var location: PartialLocation
    var representation: Representation
    var received: IntervalSet
    /// The name of the file that contains the bytes, until the partial file is opened again; nil if it is unknown.
    var fileName: String?

    init(
        location: PartialLocation, representation: Representation, received: IntervalSet, fileName: String? = nil
    ) {
        self.location = location
        self.representation = representation
        self.received = received
        self.fileName = fileName
    }
}

extension PartialLocation {
    /// The key of the requests that may continue from the bytes.
    var sharingKey: SharingKey { SharingKey(request.key, secretHeaders: secretHeaders) }

    /// The same location, with the bytes on disk.
    var onDisk: Self {
        var location = self
        location.medium = .disk
        return location
    }

    /// Returns the location of bodies of the same resource that have to leave memory, regardless of their destination.
    func spilled(to directory: String) -> Self {
        var location = onDisk
        location.directory = directory
        location.baseName = Self.spilledName
        location.request.destination = ""
        location.request.choosesName = false
        location.request.defaultFileName = nil
        return location
    }

    /// Whether the location belongs to a body that had to leave memory.
    var isSpilled: Bool { baseName == Self.spilledName && request.destination.isEmpty }

    /// Whether an in-memory body may be written to disk: if it has secret headers, an account must identify its user.
    var mayBeOnDisk: Bool { secretHeaders.isEmpty || request.account != nil }

    /// The base name of the hidden files of bodies that had to leave memory.
    static let spilledName = "body"
}
