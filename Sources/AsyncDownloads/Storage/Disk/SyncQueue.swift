internal import Dispatch
private import class Foundation.Thread

/// The syncs of short files and of directories, which threads perform in rounds.
///
/// While a round of a ``Scope`` runs, the requests for the next one collect. A sync of a directory makes all names in
/// it durable, and where the changes of all files become durable together (``VolumeKind/diskWithSharedSyncs``), a sync
/// of several files takes about as long as that of one. A thread for each file would wait as long, and resuming all of
/// them would take more processor time than the rest of a short download.
final class SyncQueue: Sendable {
    /// What is synced.
    enum Object: Sendable {
        case file(OpenFile)
        case directory(String)
    }

    /// The requests that one thread serves.
    enum Scope: Sendable, Hashable {
        /// Requests that concern short files of the volume with this device number.
        case volume(UInt64)
        /// Requests for one directory, which wait for no file.
        case directory(ByteText)
    }

    private struct Request: Sendable {
        let object: Object
        let completion: @Sendable (FileFailure?) -> Void
    }

    private let disk: any FileSystem
    /// The requests for the next round of each scope whose thread runs.
    private let waiting = Mutex<[Scope: [Request]]>([:])

    init(disk: any FileSystem) {
        self.disk = disk
    }

    /// Syncs the object in the next round of the scope, which begins after this call.
    ///
    /// - Parameter completion: A closure that is called with the failure, or nil, on the thread of the scope. It must
    ///   not wait.
    func add(_ object: Object, in scope: Scope, completion: @escaping @Sendable (FileFailure?) -> Void) {
        let isFirst = waiting.withLock { waiting in
            defer { waiting[scope, default: []].append(Request(object: object, completion: completion)) }
            return waiting[scope] == nil
        }
        if isFirst { start(scope) }
    }

    /// Syncs the directory, and waits for it; one sync serves all threads that came before it began.
    func synchronizeDirectory(_ path: String) throws(FileFailure) {
        let signal = DispatchSemaphore(value: 0)
        let result = Mutex<FileFailure?>(nil)
        add(.directory(path), in: .directory(ByteText(path))) { failure in
            result.withLock { $0 = failure }
            signal.signal()
        }
        signal.wait()
        if let failure = result.withLock({ $0 }) { throw failure }
    }

    /// The number of requests for the next round of the scope.
    func waitingCount(in scope: Scope) -> Int { waiting.withLock { $0[scope]?.count ?? 0 } }

    private func start(_ scope: Scope) {
        switch scope {
        case .volume: DispatchQueue.runBlocking { self.run(scope) }
        // Threads of Dispatch wait for it, and might be all that Dispatch has.
        case .directory: Thread.detachNewThread { self.run(scope) }
        }
    }

    private func run(_ scope: Scope) {
        while let requests = next(scope) {
            let files = requests.compactMap {
                if case .file(let file) = $0.object { (file, $0.completion) } else { nil }
            }
            let directories = requests.compactMap {
                if case .directory(let path) = $0.object { (ByteText(path), $0.completion) } else { nil }
            }
            let fileFailures = failures(of: files.map(\.0))
            // With these files, the names of the last round's files have become durable on most file systems, so that
            // the syncs of their directories wait for nothing.
            let directoryFailures = failures(of: Set(directories.map(\.0)))
            // Files first: when a file has its name, its descriptor is closed, which a directory may be waiting for.
            for ((_, completion), failure) in zip(files, fileFailures) { completion(failure) }
            for (path, completion) in directories { completion(directoryFailures[path]) }
        }
    }

    /// Returns the requests of the next round; nil if there are none, and the thread of the scope ends.
    private func next(_ scope: Scope) -> [Request]? {
        waiting.withLock { waiting in
            guard let requests = waiting[scope], !requests.isEmpty else {
                waiting[scope] = nil
                return nil
            }
            waiting[scope] = []
            return requests
        }
    }

    /// Syncs the files together, and returns the failure of each one, or nil.
    ///
    /// No file is synced a second time, because a sync that follows a failed one may succeed although bytes could not
    /// be written (rule 45). After a failure, the success of one file says nothing about the others.
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
