package import struct Foundation.Data

/// Keeps the bytes of unfinished downloads (port).
///
/// The disk store is the real one; a fake lives with the tests. Every function may block on the disk and is called on
/// a thread made for that, but for ``Partial/write(_:at:)`` and ``Partial/mark(_:)``, which an engine's thread calls.
package protocol PartialStore: Sendable {
    /// Opens what is kept at `site`, or makes room for it, and becomes its one owner across processes.
    ///
    /// - Throws: ``DownloadError/Code/partialInUse`` while another process owns it, or a disk error. What is found and
    ///   cannot be used is not an error: it is reported by ``Partial/finding``.
    func open(_ location: PartialLocation) throws(DownloadError) -> any Partial

    /// Why no file can be put at `path` in the end: something is there that a file must not replace; nil where one can.
    func refusal(of path: String) -> DownloadError?

    /// Whether anything may be kept at `site`; cheap.
    func holds(_ location: PartialLocation) -> Bool

    /// Puts copies of a finished file at every target, atomically, as ``Partial/place(at:length:)`` does.
    ///
    /// - Parameter site: The site of the partial that the file was, for the names of temporary files.
    func place(
        copyOf path: String, at targets: [PlacementTarget], for location: PartialLocation
    ) -> [Result<String, DownloadError>]

    /// Copies the bytes of the file that `open` opens; the file stays.
    ///
    /// Where more bytes that can be proven are kept here already, these stay, and nothing is copied; nor is it when
    /// nothing could prove the file's bytes. The answer is what can be continued, as far as the network allows; its
    /// ``Representation/isImported`` says whether it is of the file.
    ///
    /// - Throws: ``DownloadError/Code/partialInUse`` while anybody owns the site, or a disk error; then nothing is lost,
    ///   neither there nor here.
    func importFile(
        at location: PartialLocation, _ open: (any FileSystem) throws(DownloadError) -> ImportedFile
    ) throws(DownloadError) -> (unfinished: UnfinishedPartial, file: ImportedFile)

    /// Removes from `directory` what no download can continue: files of this user that were last written before `date`,
    /// that no checkpoint names, and whose lock can be taken.
    func removeLeftovers(in directory: String, writtenBefore date: HTTPDate) throws(DownloadError) -> RemovedLeftovers

    /// Removes unfinished bodies in `directory` that were last written before `date`, and the oldest of the others as long
    /// as they hold more than `byteLimit` bytes together.
    func removeBodies(in directory: String, writtenBefore date: HTTPDate, exceeding byteLimit: Int64)

    /// Removes a file whose bytes were copied and confirmed, if it is temporary and its path still leads to it.
    func removeImported(_ file: ImportedFile)

    /// What is kept at `site` on disk, read without owning it; nil where nothing is, or it cannot be read.
    func unfinished(at location: PartialLocation) -> UnfinishedPartial?

    /// What earlier processes left in `directory`, readable checkpoints only, in the order of their names.
    ///
    /// A checkpoint may have been planted. So none is listed whose destination is not below `directory`, or leads there
    /// over a symbolic link.
    ///
    /// - Parameter trustsDestinations: Whether absolute destinations count as well, provided that nobody but this user can
    ///   write to `directory`.
    func unfinished(
        in directory: String, trustsDestinations: Bool
    ) throws(DownloadError) -> [UnfinishedPartial]
}

/// Where a partial lives and whose it is.
package struct PartialLocation: Sendable, Hashable {
    /// Where the bytes are to be while they arrive.
    package enum Medium: Sendable, Hashable {
        case disk
        /// In memory, as long as nobody wants a file of them.
        case memory
    }

    /// The directory for the hidden files, absolute; it exists, or is created by ``PartialStore/open(_:)``.
    package var directory: String
    /// The name that people will recognise, sanitised: a part of the hidden files' names.
    package var baseName: String
    /// What was asked for.
    package var request: RequestRecord
    /// The headers that are sent and never recorded.
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

/// The request as a checkpoint records it: enough to make it again, without any secret.
package struct RequestRecord: Sendable, Hashable {
    /// The URL as asked for, without its fragment.
    package var url: String
    /// The public headers (``DownloadRequest/nonsecretHeaders``), as name and value pairs.
    package var headers: [[String]]
    /// Whether other headers were sent, too, which a later process must supply anew.
    package var hasSecretHeaders: Bool
    /// Where the file is to go: a path relative to the partial's directory where it is below it, else absolute; empty
    /// where no file is wanted.
    package var destination: String
    /// Whether `destination` is a directory in which the file's name is still to be chosen.
    package var choosesName: Bool
    /// The digest that the whole file must have, as `algorithm=hex`.
    package var checksum: String?
    /// The caller's name of the resource, which stands for it in place of the URL.
    package var identity: String?
    /// The caller's name for whose credentials are sent.
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

    /// What stands for the resource: its name where it has one, else the URL.
    package var resource: String { Self.resource(url: url, identity: identity) }

    package static func resource(url: String, identity: String?) -> String {
        // No URL holds a space, so no name is taken for one.
        identity.map { "named \($0)" } ?? url
    }
}

/// What was found when a partial was opened.
package enum PartialFinding: Sendable, Hashable {
    /// Nothing: a first download.
    case nothing
    /// Bytes to continue from.
    case bytes(Representation, IntervalSet)
    /// Something that must not be used, and has been removed; with the number of bytes that were there.
    case unusable(RestartReason, discarded: Int64)
}

/// A checkpoint that an earlier process left.
package struct UnfinishedPartial: Sendable, Hashable {
    package var location: PartialLocation
    package var representation: Representation
    package var received: IntervalSet
    /// The name of the file that holds the bytes, until the next opening gives it another one; nil where it was not
    /// looked for.
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

/// One open partial file and its checkpoint; owned until ``close()``, ``discard()`` or ``place(at:length:)``.
///
/// After these every call fails or does nothing. A call that is in progress then is waited for.
///
/// Calls are never concurrent with each other, save that ``write(_:at:)`` and ``mark(_:)`` may run beside
/// ``save(_:)`` and ``read(into:at:)``.
package protocol Partial: AnyObject, Sendable {
    /// What opening found; it does not change.
    var finding: PartialFinding { get }

    /// Gives up what is there and begins an empty file for `representation`.
    ///
    /// The old checkpoint goes before a byte of the new representation is written, so that no crash leaves it speaking
    /// of bytes that are not its own. Refuses a destination that is no file, checks the free space and sets it aside
    /// when the length is known. After an error
    /// the partial takes no bytes until another call has succeeded.
    func begin(_ representation: Representation) throws(DownloadError)

    /// Continues the file as it is with what the server says of it now (the same object by its validator).
    func updateRepresentation(_ representation: Representation)

    /// The secret headers that are sent from now on, where they are not those of the site.
    func useCredentials(_ headers: HeaderFields)

    /// The server has proven that the bytes are those of the present request's credentials, too.
    func confirmCredentials()

    /// Writes all of `bytes` at `offset`.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DownloadError)

    /// Notes cheaply that `received` has been written, for a process that dies while the machine lives on.
    ///
    /// Does nothing while no checkpoint speaks of the file, which is so from ``begin(_:)`` to the first ``save(_:)``.
    /// A failure is not reported, since it costs bytes only after a crash.
    func mark(_ received: IntervalSet)

    /// Makes the bytes of `received`, then the checkpoint that speaks of them, as durable as the store promises.
    ///
    /// When the disk fails to sync the bytes, the partial takes no more: close it and open the site anew.
    func save(_ received: IntervalSet) throws(DownloadError)

    /// Lets the checkpoint claim `received` and nothing beyond, whatever it and its marks have claimed before.
    ///
    /// Unlike ``save(_:)``, after which an earlier mark that claims more goes on to count. `received` begins at the first
    /// byte, and is a part of what was claimed.
    func rollBack(to received: IntervalSet) throws(DownloadError)

    /// Reads up to `buffer.count` bytes at `offset`; 0 at the end of the file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(DownloadError) -> Int

    /// The first `length` bytes, all of which are there.
    func contents(length: Int64) throws(DownloadError) -> Data

    /// Whether the bytes are in memory only.
    var isInMemory: Bool { get }

    /// Moves bytes that are in memory to disk, synced; does nothing where they are there.
    ///
    /// Bytes may be written meanwhile; they wait for no sync.
    func leaveMemory() throws(DownloadError)

    /// The number of the volume that holds the bytes; nil in memory.
    var volume: UInt64? { get }

    /// Puts the finished file of `length` bytes at every target and removes every trace of the partial.
    ///
    /// Each target gets it atomically, and only after the bytes are as durable as promised. The first takes the file
    /// itself, the rest get clones or copies. The answers are the paths that have the file now. Errors are per target;
    /// where one fails the partial is kept unless another took the file.
    func place(at targets: [PlacementTarget], length: Int64) -> [Result<String, DownloadError>]

    /// Releases the partial and keeps it on disk as last saved or marked.
    ///
    /// The answer is what another process would find now: less than was written where the disk refused to save it, and
    /// nothing where another owner has it.
    @discardableResult
    func close() -> IntervalSet

    /// Releases the partial and removes every trace of it.
    func discard()
}

extension Partial {
    package func contents(length: Int64) throws(DownloadError) -> Data {
        var bytes = Data(count: Int(length))
        var filled = 0
        while filled < bytes.count {
            let result = bytes.withUnsafeMutableBytes { buffer in
                Result { () throws(DownloadError) in
                    try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]), at: Int64(filled))
                }
            }
            let count = try result.get()
            guard count > 0 else { throw DownloadError(.storageFailure, "the partial file ends too early") }
            filled += count
        }
        return bytes
    }

    /// Whether the bytes at `offset` are `bytes`.
    package func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DownloadError) -> Bool {
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: min(bytes.count, 64 << 10), alignment: 16)
        defer { piece.deallocate() }
        var position = 0
        while position < bytes.count {
            let wanted = min(piece.count, bytes.count - position)
            let count = try read(
                into: UnsafeMutableRawBufferPointer(rebasing: piece[..<wanted]), at: offset + Int64(position))
            guard count > 0, piece[..<count].elementsEqual(bytes[position..<position + count]) else { return false }
            position += count
        }
        return true
    }

    package func useCredentials(_ headers: HeaderFields) {}

    package func confirmCredentials() {}

    package var isInMemory: Bool { false }

    package func leaveMemory() {}

    package var volume: UInt64? { nil }
}
