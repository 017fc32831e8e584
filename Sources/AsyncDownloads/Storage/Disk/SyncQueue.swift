/// The syncs of short files and of directories, which threads perform in rounds.
///
/// While a round on a volume runs, requests for the next round are collected. A sync of a directory makes all names in it
/// durable. On volumes that make the changes of all files durable together (``VolumeKind/diskWithSharedSyncs``),
/// a sync of several files takes about as long as a sync of one file. With a thread for each file, each sync would take
/// the same time, and resuming all threads would take more processor time than the rest of a short download.
final class SyncQueue: Sendable {
    /// An object that is synced.
    enum Object: Sendable {
        case file(OpenFile)
        case directory(String)
    }

    private struct Request: Sendable {
        let object: Object
        let completion: @Sendable (FileFailure?) -> Void
    }

    private let disk: any FileSystem
    /// The requests for the next round of each volume that has a running thread, by device number.
    private let waiting = Mutex<[UInt64: [Request]]>([:])

    init(disk: any FileSystem) {
        self.disk = disk
    }

    /// Syncs the object in the next round of its volume, which begins after this call.
    ///
    /// - Parameters:
    ///   - object: The object.
    ///   - volume: The device number of the volume.
    ///   - completion: A closure that is called with the failure, or nil, on the thread of the volume. It must not
    ///     block.
    func add(_ object: Object, on volume: UInt64, completion: @escaping @Sendable (FileFailure?) -> Void) {
        let isFirst = waiting.withLock { waiting in
            defer { waiting[volume, default: []].append(Request(object: object, completion: completion)) }
            return waiting[volume] == nil
        }
        if isFirst { BlockingThreads.run { self.run(volume) } }
    }

    /// The number of requests for the next round of the volume.
    func waitingCount(on volume: UInt64) -> Int { waiting.withLock { $0[volume]?.count ?? 0 } }

    private func run(_ volume: UInt64) {
        while let requests = next(volume) {
            let files = requests.compactMap {
                if case .file(let file) = $0.object { (file, $0.completion) } else { nil }
            }
            let directories = requests.compactMap {
                if case .directory(let path) = $0.object { (ByteText(path), $0.completion) } else { nil }
            }
            let fileFailures = failures(of: files.map(\.0))
            // On most file systems, the sync of these files has also made the names of the last round's files durable,
            // so that the syncs of their directories take little time.
            let directoryFailures = failures(of: Set(directories.map(\.0)))
            // The files' closures are called first: they release descriptors, which a closure that repeats the sync of
            // a directory may need.
            for ((_, completion), failure) in zip(files, fileFailures) { completion(failure) }
            for (path, completion) in directories { completion(directoryFailures[path]) }
        }
    }

    /// Returns the requests of the next round; nil if there are none, so that no thread serves the volume.
    private func next(_ volume: UInt64) -> [Request]? {
        waiting.withLock { waiting in
            guard let requests = waiting[volume], !requests.isEmpty else {
                waiting[volume] = nil
                return nil
            }
            waiting[volume] = []
            return requests
        }
    }

    /// Syncs the files together, and returns the failure of each one, or nil.
    ///
    /// No file is synced again after a failure, because the second sync may succeed although bytes could not be written
    /// (rule 45). After a failure, every other file is synced individually.
    private func failures(of files: [OpenFile]) -> [FileFailure?] {
        guard files.count > 1 else { return files.map { failure(of: disk.synchronize, $0) } }
        var failures = files.map { failure(of: disk.startSynchronizing, $0) }
        var hasFailed = false
        for index in files.indices where failures[index] == nil {
            failures[index] = failure(of: disk.synchronize, files[index])
            if failures[index] != nil { hasFailed = true }
            if disk.flushesAllFilesTogether, !hasFailed { break }
        }
        return failures
    }

    private func failures(of directories: Set<ByteText>) -> [ByteText: FileFailure] {
        var failures: [ByteText: FileFailure] = [:]
        for directory in directories {
            failures[directory] = failure(of: disk.synchronizeDirectory, directory.text)
        }
        return failures
    }

    private func failure<Object>(of sync: (Object) throws(FileFailure) -> Void, _ object: Object) -> FileFailure? {
        do throws(FileFailure) {
            try sync(object)
            return nil
        } catch {
            return error
        }
    }
}
