internal import Foundation

/// A journal in the container of an app group, which the app and its extensions read and write.
///
/// The system ends a process that is suspended while it has locked a file in such a container. The lock is therefore
/// held only while the journal is read or written, and what other processes have written meanwhile is merged.
struct SharedJournalFile: Sendable {
    let file: JournalFile
    /// The journal as this process has last read or written it.
    private var base: BackgroundJournal
    /// The file at that moment; each write makes another one.
    private var information: FileInformation?

    /// Opens the file, or creates it with the journal that `create` returns.
    ///
    /// The file is created at once, so that all processes use the same token.
    init(_ file: JournalFile, create: () throws(DownloadError) -> BackgroundJournal) throws(DownloadError) {
        self.file = file
        let opened = try Self.locked(file) { () throws(DownloadError) -> (BackgroundJournal, FileInformation?) in
            if let journal = try file.journal() { return (journal, Self.information(of: file)) }
            let journal = try create()
            try file.write(journal)
            return (journal, Self.information(of: file))
        }
        (base, information) = opened
    }

    /// The journal that was read or created.
    var journal: BackgroundJournal { base }

    /// Returns `own` with the changes of other processes since the last access; nil if there are none.
    mutating func changes(mergedWith own: BackgroundJournal) throws(DownloadError) -> BackgroundJournal? {
        guard Self.information(of: file) != information else { return nil }
        let (theirs, found) = try Self.locked(file) { () throws(DownloadError) in
            (try file.journal(), Self.information(of: file))
        }
        guard let theirs else { return nil }
        guard let merged = own.merged(with: theirs, since: base) else { throw Self.conflict }
        (base, information) = (theirs, found)
        return merged
    }

    /// Writes `own` with the changes of other processes, and returns what was written.
    mutating func write(_ own: BackgroundJournal) throws(DownloadError) -> BackgroundJournal {
        let (known, last) = (base, information)
        let (written, found) = try Self.locked(file) { () throws(DownloadError) in
            var journal = own
            if Self.information(of: file) != last, let theirs = try file.journal() {
                guard let merged = own.merged(with: theirs, since: known) else { throw Self.conflict }
                journal = merged
            }
            try file.write(journal)
            return (journal, Self.information(of: file))
        }
        (base, information) = (written, found)
        return written
    }

    private static var conflict: DownloadError {
        DownloadError(.sessionInUse, "another process uses the background session at the same time")
    }

    private static func information(of file: JournalFile) -> FileInformation? {
        try? file.disk.information(at: file.path)
    }

    /// The number of attempts to get the lock, and the pause between them: a second in all.
    private static let attempts = (count: 200, pause: 0.005)

    /// Calls `body` while no other process reads or writes the journal.
    private static func locked<Value>(
        _ file: JournalFile, _ body: () throws(DownloadError) -> Value
    ) throws(DownloadError) -> Value {
        let (disk, path) = (file.disk, "\(file.path).lock")
        let lock: OpenFile
        do throws(FileFailure) {
            lock = try disk.openOrCreate(path)
        } catch {
            throw DownloadError(error)
        }
        defer { disk.close(lock) }
        for _ in 0..<attempts.count {
            let isLocked: Bool
            do throws(FileFailure) {
                isLocked = try disk.lock(lock)
            } catch {
                guard error.kind == .unsupported else { throw DownloadError(error) }
                isLocked = true
            }
            if isLocked { return try body() }
            Thread.sleep(forTimeInterval: attempts.pause)
        }
        throw DownloadError(.sessionInUse, "another process has locked the journal of the session")
    }
}

extension FileSystem {
    /// Opens the file at `path`, which is created if it does not exist.
    func openOrCreate(_ path: String) throws(FileFailure) -> OpenFile {
        for _ in 0..<8 {
            do throws(FileFailure) {
                return try open(path, .existing)
            } catch {
                guard error.kind == .missing else { throw error }
            }
            do throws(FileFailure) {
                return try open(path, .new)
            } catch {
                guard error.kind == .exists else { throw error }
            }
        }
        return try open(path, .existing)
    }
}
