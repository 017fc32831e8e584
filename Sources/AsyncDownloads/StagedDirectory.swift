public import struct Foundation.URL

/// A new version of a directory, which replaces the old version, or appears, in one step after all files are complete.
///
/// ```swift
/// let version = try await StagedDirectory(for: directory)
/// let requests = ["config.json", "weights/1.bin", "weights/2.bin"].map {
///     DownloadRequest(from: catalog.url(of: $0), to: version.url.appending(path: $0))
/// }
/// try await downloader.downloadAll(requests)
/// try await version.publish()
/// ```
///
/// ``url`` is a hidden directory next to ``destination``, which contains the files of the old version. Files that are downloaded
/// there are added, or replace others; unchanged ones aren't received again, as ``ExistingFilePolicy`` says. Whatever happens
/// before ``publish()``, including the end of the process, the destination stays as it is, and the downloaded files are
/// kept: the next object for the same destination continues with them. ``publish()`` exchanges both directories. Other
/// processes see either all files of the old version or all files of the new one. On a volume that can't exchange two
/// directories in one step, for example some network volumes, the destination doesn't exist for a moment.
///
/// Nothing in the old version is lost: what isn't replaced is also in the new version, including what other programs have
/// changed there in the meantime. For this, each file of the old version gets a second name (a hard link), and the new
/// directories get the owners and permissions of the old ones, but not their access control lists and extended attributes.
/// Where this isn't possible, an existing directory can't be staged, but one that doesn't exist can: on a volume without hard
/// links, if a directory can't be written, if the name of a file isn't UTF-8, or, on Linux, if this user can't write a file
/// of another user. A download that was begun in the old version isn't continued in the new one.
///
/// Among all processes of one user, only one object at a time stages a destination. It holds a lock until it is published,
/// discarded, closed, or released. All methods may be called on any thread. They access the disk on other threads.
public final class StagedDirectory: Sendable {
    /// The directory that ``publish()`` replaces, without symbolic links.
    public let destination: URL

    /// The hidden directory that contains the files of the new version until ``publish()``.
    public let url: URL

    private let staging: DirectoryStaging
    /// The lock; nil after the end.
    private let lock: Mutex<PartialLock?>

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
    ///   written or its files can't get second names, ``DownloadError/Code/partialInUse`` if it is staged and `inUsePolicy`
    ///   is ``PartialInUsePolicy/fail``, ``DownloadError/Code/cancelled`` if the task is canceled during the wait, or
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
        self.lock = Mutex(lock)
    }

    /// The time between two attempts to acquire the lock.
    private static let interval = Duration.milliseconds(250)

    deinit {
        guard let lock = lock.withLock({ $0 }) else { return }
        BlockingThreads.run { [staging] in
            try? staging.close()
            lock.release(removing: true)
        }
    }

    /// Returns the URL that a file in ``url`` has after ``publish()``; any other URL is returned unchanged.
    public func publishedURL(of file: URL) -> URL {
        let (path, prefix) = (file.filePath, staging.names.staged + "/")
        guard path.utf8.starts(with: prefix.utf8) else { return file }
        let rest = String(decoding: path.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
        return URL(fileURLWithPath: PartialNames.join(staging.names.destination, rest), isDirectory: false)
    }

    /// Replaces the destination with the new version.
    ///
    /// No download into ``url`` may be running. The object can't be used afterward, unless an error is thrown.
    ///
    /// - Throws: A ``DownloadError`` if the new version can't be completed, for example because a path is a directory in
    ///   only one of the two versions. The destination is unchanged then, and the downloaded files are kept. With the code
    ///   ``DownloadError/Code/storageFailure``, the destination may have been replaced, but not durably. If an error occurs
    ///   while the old version is removed, no error is thrown, and the next object for the same destination removes the rest.
    public func publish() async throws(DownloadError) {
        let failure = try await end { staging throws(FileFailure) in try staging.publish() }
        if let failure { throw DownloadError(failure) }
    }

    /// Releases the lock, and keeps the downloaded files for the next object with this destination.
    ///
    /// If the object is released without a call of this method, the lock is released later. The object can't be used
    /// afterward; a call after ``publish()`` or ``discard()`` has no effect.
    public func close() async {
        _ = try? await end { staging in try? staging.close() }
    }

    /// Removes the downloaded files; the destination stays as it is.
    ///
    /// The object can't be used afterward, unless an error is thrown.
    ///
    /// - Throws: A ``DownloadError`` if a file can't be removed.
    public func discard() async throws(DownloadError) {
        try await end { staging throws(FileFailure) in try staging.discard() }
    }

    /// Performs the last operation, and then releases the lock; after a failure, the object can still be used.
    private func end<Value: Sendable>(
        _ operation: @escaping @Sendable (DirectoryStaging) throws(FileFailure) -> Value
    ) async throws(DownloadError) -> Value {
        let lock = self.lock.withLock { lock in
            defer { lock = nil }
            return lock
        }
        guard let lock else {
            throw DownloadError(
                .destinationUnusable, "the staged directory was already published, discarded, or closed")
        }
        do throws(DownloadError) {
            return try await Self.onDiskThread { [staging] () throws(FileFailure) in
                let value = try operation(staging)
                lock.release(removing: true)
                return value
            }
        } catch {
            self.lock.withLock { $0 = lock }
            throw error
        }
    }

    private static func onDiskThread<Value: Sendable>(
        _ operation: @escaping @Sendable () throws(FileFailure) -> Value
    ) async throws(DownloadError) -> Value {
        let result: Result<Value, FileFailure> = await withCheckedContinuation { continuation in
            BlockingThreads.run {
                continuation.resume(returning: Result { () throws(FileFailure) in try operation() })
            }
        }
        return try result.mapError { DownloadError($0) }.get()
    }
}
