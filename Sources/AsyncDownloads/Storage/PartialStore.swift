/// The port to the partial files of unfinished downloads.
///
/// The production adapter is the disk store; the tests contain a fake. Every function may block on the disk and is
/// called on a thread that may block, except ``Partial/write(_:at:)`` and ``Partial/mark(_:)``, which the engine's
/// thread calls.
package protocol PartialStore: Sendable {
    /// Opens the partial at `location`, or creates a new one, and becomes its only owner across all processes.
    ///
    /// - Throws: ``DownloadError/Code/partialInUse`` while another process owns the partial, or a disk error. Existing
    ///   files that cannot be used are not an error; ``Partial/finding`` reports them.
    func open(_ location: PartialLocation) throws(DownloadError) -> any Partial

    /// Opens a new partial at `location` if nothing of an earlier one may exist; otherwise returns nil.
    ///
    /// This takes no longer than creating a file. ``open(_:)`` may have to read or sync the bytes that it finds.
    func openNew(_ location: PartialLocation) throws(DownloadError) -> (any Partial)?

    /// Returns the error of placing a file at `path` if something exists there that a file must not replace.
    func refusal(of path: String) -> DownloadError?

    /// Returns whether a partial may exist at `location`, without opening it.
    func holds(_ location: PartialLocation) -> Bool

    /// Places copies of a finished file at all targets, atomically, as ``Partial/place(at:length:)`` does.
    ///
    /// - Parameter location: The location of the partial that became the file; temporary files are named after it.
    func place(
        copyOf path: String, at targets: [PlacementTarget], for location: PartialLocation
    ) -> [Result<String, DownloadError>]

    /// Copies the bytes of the file that `open` opens into the partial at `location`; the original file is kept.
    ///
    /// Nothing is copied if the partial already has at least as many provable bytes, or if no server could prove the
    /// file's bytes. The result describes what can be continued if the network permits it; its
    /// ``Representation/isImported`` says whether it comes from the file.
    ///
    /// - Throws: ``DownloadError/Code/partialInUse`` while another owner has the partial, or a disk error. In both
    ///   cases neither the file nor the existing partial is lost.
    func importFile(
        at location: PartialLocation, _ open: (any FileSystem) throws(DownloadError) -> ImportedFile
    ) throws(DownloadError) -> (unfinished: UnfinishedPartial, file: ImportedFile)

    /// Removes files from `directory` that no download can continue.
    ///
    /// These are files of this user that were last written before `date`, that no checkpoint names, and whose lock can
    /// be acquired.
    func removeLeftovers(in directory: String, writtenBefore date: HTTPDate) throws(DownloadError) -> RemovedLeftovers

    /// Removes unfinished in-memory bodies that were moved to `directory` and are old or exceed a limit.
    ///
    /// Removes the bodies that were last written before `date`, and then the oldest of the others while together they
    /// exceed `byteLimit` bytes. A body that is in use is kept.
    func removeBodies(in directory: String, writtenBefore date: HTTPDate, exceeding byteLimit: Int64)

    /// Removes a file whose bytes were copied and confirmed, if it is temporary and its path still refers to it.
    func removeImported(_ file: ImportedFile)

    /// Returns the partial at `location` on disk without owning it, or nil if it does not exist or cannot be read.
    func unfinished(at location: PartialLocation) -> UnfinishedPartial?

    /// Returns the unfinished partials in `directory` that have a readable checkpoint, sorted by name.
    ///
    /// A checkpoint may have been forged. A partial is therefore omitted if its destination is not below `directory`,
    /// or if a symbolic link leads to it.
    ///
    /// - Parameter trustsDestinations: Whether absolute destinations are accepted as well, provided that only this user
    ///   can write to `directory`.
    func unfinished(
        in directory: String, trustsDestinations: Bool
    ) throws(DownloadError) -> [UnfinishedPartial]
}

/// The location of a partial and the request that it belongs to.
package struct PartialLocation: Sendable, Hashable {
    /// The medium that holds the bytes while they arrive.
    package enum Medium: Sendable, Hashable {
        case disk
        /// Memory, as long as no subscriber requests a file.
        case memory
    }

    /// The absolute path of the directory for the hidden files; ``PartialStore/open(_:)`` creates it if necessary.
    package var directory: String
    /// The sanitized, recognizable name that becomes a part of the hidden files' names.
    package var baseName: String
    /// The request that the partial belongs to.
    package var request: RequestRecord
    /// The headers that are sent but never recorded.
    package var secretHeaders: HeaderFields
    package var medium: Medium

    package init(
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

/// The request as a checkpoint records it: sufficient to repeat it, but without secrets.
package struct RequestRecord: Sendable, Hashable {
    /// The requested URL without its fragment.
    package var url: String
    /// The public headers (``DownloadRequest/nonsecretHeaders``), as name and value pairs.
    package var headers: [[String]]
    /// Whether the request also had secret headers, which a later process has to supply again.
    package var hasSecretHeaders: Bool
    /// The text of a ``RecordedDestination``.
    package var destination: String
    /// Whether `destination` is a directory in which the file's name has yet to be chosen.
    package var choosesName: Bool
    /// The expected digest of the whole file, as `algorithm=hex`.
    package var checksum: String?
    /// The caller's stable name of the resource, which replaces the URL as its key.
    package var identity: String?
    /// The caller's stable name for the user whose credentials are sent.
    package var account: String?

    package init(
        url: String, headers: [[String]] = [], hasSecretHeaders: Bool = false, destination: String,
        choosesName: Bool = false, checksum: String? = nil, identity: String? = nil, account: String? = nil
    ) {
        self.url = url
        self.headers = headers
        self.hasSecretHeaders = hasSecretHeaders
        self.destination = destination
        self.choosesName = choosesName
        self.checksum = checksum
        self.identity = identity
        self.account = account
    }

    /// The key of the resource: its identity if it has one, otherwise its URL.
    package var resource: String { Self.resource(url: url, identity: identity) }

    package static func resource(url: String, identity: String?) -> String {
        // A URL cannot contain a space, so an identity is never confused with a URL.
        identity.map { "named \($0)" } ?? url
    }
}

/// The properties by which the bytes of two requests belong to one resource and one user, compared by their bytes.
struct ResourceIdentity: Sendable, Hashable {
    let resource: ByteText
    let headers: [[ByteText]]
    let account: ByteText?

    init(_ request: RequestRecord) {
        resource = ByteText(request.resource)
        headers = request.headers.map { $0.map(ByteText.init) }
        account = request.account.map(ByteText.init)
    }
}

/// The result of opening a partial.
package enum PartialFinding: Sendable, Hashable {
    /// Nothing was found; this is the first download.
    case nothing
    /// Bytes to continue from.
    case bytes(Representation, IntervalSet)
    /// Something that must not be used was found and removed; `discarded` is the number of bytes in it.
    case unusable(RestartReason, discarded: Int64)
}

/// An unfinished partial of an earlier process.
package struct UnfinishedPartial: Sendable, Hashable {
    package var location: PartialLocation
    package var representation: Representation
    package var received: IntervalSet
    /// The name of the file that contains the bytes, until the partial is opened again; nil if it was not looked up.
    package var fileName: String?

    package init(
        location: PartialLocation, representation: Representation, received: IntervalSet, fileName: String? = nil
    ) {
        self.location = location
        self.representation = representation
        self.received = received
        self.fileName = fileName
    }
}
