internal import Dispatch

public import struct Foundation.URL

/// A new version of a directory, which replaces the old version, or appears, in one step after all files are complete.
///
/// ```swift
/// let version = try await StagedDirectory(for: directory)
/// var requests: [DownloadRequest] = []
/// for path in ["config.json", "weights/1.bin", "weights/2.bin"] {
///     requests.append(DownloadRequest(from: catalog.url(of: path), to: try await version.url(for: path)))
/// }
/// for file in try await downloader.downloadAll(requests) { version.add(file) }
/// try await version.publish()
/// ```
///
/// Files are downloaded into ``url``, a hidden directory next to ``destination``. Whatever happens before ``publish()``,
/// including the end of the process, the destination stays as it is, and the staged files are kept: the next object for the
/// same destination continues with them, so that finished files aren't received again. ``publish()`` gives the hidden
/// directory the name of the destination. Other processes see either all files of the old version or all files of the
/// new one. On a volume that can't exchange two directories in one step, for example some network volumes, the
/// destination doesn't exist for a moment.
///
/// The new version contains the files that were passed to ``add(_:)`` and, unchanged, everything in the old version whose
/// path isn't among them. It is therefore safe to stage a directory that contains files of others. The directories of
/// the new version have the permissions of the old ones, but not their owners, access control lists, or extended
/// attributes. The files of the old version get a second name (a hard link) for this; on a volume without hard links, only
/// a directory that doesn't exist, or is empty, can be published.
///
/// One object at a time stages a destination, in all processes of the machine. It holds a lock until it is published,
/// discarded, or released. All methods may be called on any thread; those that access the disk do so on a thread of
/// their own.
public final class StagedDirectory: Sendable {
    /// The directory that ``publish()`` replaces, without symbolic links.
    public let destination: URL

    /// The hidden directory that contains the files of the new version until ``publish()``.
    public let url: URL

    private struct State {
        /// The lock; nil after the publication.
        var lock: PartialLock?
        /// The hash values of the paths, in the directory, of the files that were added.
        var added: Set<Int> = []
    }

    private let staging: DirectoryStaging
    private let state: Mutex<State>

    /// Stages a new version of a directory.
    ///
    /// If another object, in this process or another one, stages the directory, this one waits for it by default.
    ///
    /// - Parameters:
    ///   - destination: The directory, which need not exist. A symbolic link to a directory is followed.
    ///   - durability: Whether the published names survive a loss of power; pass the
    ///     ``Downloader/Configuration/durability`` of the downloader.
    ///   - inUsePolicy: What happens while another object stages the directory.
    /// - Throws: A ``DownloadError`` with the code ``DownloadError/Code/destinationUnusable`` if the destination isn't a
    ///   directory or is the root of a volume, ``DownloadError/Code/permissionDenied`` if its parent directory can't be
    ///   written, ``DownloadError/Code/partialInUse`` if it is staged and `inUsePolicy` is
    ///   ``PartialInUsePolicy/fail``, ``DownloadError/Code/cancelled`` if the task is canceled during the wait, or
    ///   ``DownloadError/Code/invalidRequest`` if it isn't a file URL.
    public convenience init(
        for destination: URL, durability: Durability = .powerLoss, inUsePolicy: PartialInUsePolicy = .wait
    ) async throws(DownloadError) {
        try await self.init(
            for: destination, store: PartialStore(durability: durability), inUsePolicy: inUsePolicy,
            time: SystemTimeSource())
    }

    package init(
        for destination: URL, store: PartialStore, inUsePolicy: PartialInUsePolicy, time: any TimeSource
    ) async throws(DownloadError) {
        guard destination.isFileURL else { throw DownloadError(.invalidRequest, "not a file URL") }
        self.destination = URL(
            fileURLWithPath: destination.absoluteURL.standardizedFileURL.resolvingSymlinksInPath().filePath,
            isDirectory: true)
        let staging = DirectoryStaging(self.destination.filePath, store: store)
        self.staging = staging
        url = URL(fileURLWithPath: staging.names.staged, isDirectory: true)
        var lock: PartialLock?
        while lock == nil {
            do {
                lock = try await Self.onDiskThread { () throws(FileFailure) in try staging.open() }
            } catch let error where error.code == .partialInUse && inUsePolicy.waits {
                guard !Task.isCancelled else { throw DownloadError(.cancelled) }
                await withCheckedContinuation { continuation in
                    _ = time.schedule(after: Self.interval) { continuation.resume() }
                }
            }
        }
        state = Mutex(State(lock: lock))
    }

    /// The time between two attempts to acquire the lock.
    private static let interval = Duration.milliseconds(250)

    deinit {
        state.withLock { $0.lock }?.release(removing: true)
    }

    /// Returns the URL at which the file with this path is downloaded, for the destination of its request.
    ///
    /// If the old version contains a file with the path, the staged directory contains it, too, so that
    /// ``ExistingFilePolicy`` applies to it: with ``ExistingFilePolicy/reuse``, an unchanged file isn't received again.
    ///
    /// - Parameter path: The path of the file in the directory; its components are separated by slashes.
    /// - Throws: A ``DownloadError`` with the code ``DownloadError/Code/invalidRequest`` if the path is absolute, is empty,
    ///   or contains a null character or a component that is empty, `.`, or `..`; or with the code
    ///   ``DownloadError/Code/destinationUnusable`` after ``publish()``, ``discard()``, or ``close()``.
    public func url(for path: String) async throws(DownloadError) -> URL {
        let components = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard !path.utf8.contains(0),
            components.allSatisfy({ !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) })
        else {
            throw DownloadError(.invalidRequest, "the path of a file in a directory is relative and without . and ..")
        }
        guard isOpen else { throw Self.ended }
        try await Self.onDiskThread { [staging] in staging.reuse(path) }
        return URL(fileURLWithPath: PartialNames.join(staging.names.staged, path), isDirectory: false)
    }

    /// Adds a finished file in ``url`` to the new version; any other file has no effect.
    public func add(_ file: DownloadedFile) {
        guard let path = path(of: file.url) else { return }
        _ = state.withLock { $0.added.insert(ByteText(path).hashValue) }
    }

    /// Returns the URL that a file in ``url`` has after ``publish()``; any other URL is returned unchanged.
    public func publishedURL(of file: URL) -> URL {
        path(of: file).map {
            URL(fileURLWithPath: PartialNames.join(staging.names.destination, $0), isDirectory: false)
        } ?? file
    }

    /// Replaces the destination with the new version.
    ///
    /// Staged files that weren't passed to ``add(_:)`` are removed before: they belong to earlier attempts, or have failed.
    /// The object can't be used afterward.
    ///
    /// - Throws: A ``DownloadError`` if the new version can't be completed, for example because a path is a directory in
    ///   only one of the two versions. The destination is unchanged then, and the staged files are kept. If an error
    ///   occurs while the old version is removed, no error is thrown, and the next object for the same destination
    ///   removes the rest.
    public func publish() async throws(DownloadError) {
        let added = state.withLock(\.added)
        try await end { [staging] () throws(FileFailure) in
            try staging.publish { added.contains(ByteText($0).hashValue) }
        }
    }

    /// Releases the lock, and keeps the staged files for the next object with this destination.
    ///
    /// If the object is released without a call of this method, the lock is released as well. The object can't be used
    /// afterward; a call after ``publish()`` or ``discard()`` has no effect.
    public func close() async {
        try? await end { [staging] () throws(FileFailure) in try? staging.removeIfEmpty() }
    }

    /// Removes the staged files; the destination stays as it is.
    ///
    /// The object can't be used afterward.
    ///
    /// - Throws: A ``DownloadError`` if a file can't be removed.
    public func discard() async throws(DownloadError) {
        try await end { [staging] () throws(FileFailure) in try staging.discard() }
    }

    private var isOpen: Bool { state.withLock { $0.lock != nil } }

    private static var ended: DownloadError {
        DownloadError(.destinationUnusable, "the staged directory was already published, discarded, or closed")
    }

    /// Performs the last operation, and then releases the lock; after a failure, the object can still be used.
    private func end(_ operation: @escaping @Sendable () throws(FileFailure) -> Void) async throws(DownloadError) {
        let lock = state.withLock { state in
            defer { state.lock = nil }
            return state.lock
        }
        guard let lock else { throw Self.ended }
        do throws(DownloadError) {
            try await Self.onDiskThread(operation)
        } catch {
            state.withLock { $0.lock = lock }
            throw error
        }
        lock.release(removing: true)
    }

    /// Returns the path of a file in the staged directory; nil for any other file.
    private func path(of file: URL) -> String? {
        let (path, prefix) = (file.filePath, staging.names.staged + "/")
        guard path.utf8.starts(with: prefix.utf8) else { return nil }
        return String(decoding: path.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    }

    private static func onDiskThread<Value: Sendable>(
        _ operation: @escaping @Sendable () throws(FileFailure) -> Value
    ) async throws(DownloadError) -> Value {
        let result: Result<Value, FileFailure> = await withCheckedContinuation { continuation in
            DispatchQueue.runBlocking {
                continuation.resume(returning: Result { () throws(FileFailure) in try operation() })
            }
        }
        return try result.mapError { DownloadError($0) }.get()
    }
}
