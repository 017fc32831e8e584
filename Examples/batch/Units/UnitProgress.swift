internal import AsyncDownloads
internal import Foundation

/// A unit that is being processed: its journal, its archive, and finally its report.
///
/// All functions wait for the disk, so they are called on ``DiskQueue``.
final class UnitProgress: Sendable {
    private struct State {
        var journal: UnitJournal
        var archive: TarFile?
        /// The names in the archive.
        var names: Set<String> = []
        /// The files that this process has added, by their paths.
        var added: [String: AddedFile] = [:]
        /// The number of results that are not in the file of the journal.
        var uncommittedCount = 0
        /// The files that are in the archive, but not yet in the file of the journal.
        var staged: [URL] = []
    }

    /// A file in the archive.
    private struct AddedFile {
        var name: String
        var sha256: String?
        /// The number of the file in its file system; nil after the file was removed, when another one may get the number.
        var inode: ino_t?
    }

    /// The number of results, and of bytes, after which an archive is made durable.
    private static let (commitCount, commitLength) = (64, Int64(32 << 20))

    let unit: UnitIndex.Unit
    private let folders: UnitFolders
    private let state: Mutex<State>

    /// Opens a unit, and continues the journal and the archive of an earlier process.
    init(_ unit: UnitIndex.Unit, in folders: UnitFolders) throws(Misuse) {
        (self.unit, self.folders) = (unit, folders)
        try Self.verify(unit, in: folders)
        var archiveLength: Int64?
        if folders.isPacked {
            try Self.reopenArchive(of: unit, in: folders)
            var status = stat()
            archiveLength = stat(folders.unfinishedArchive(of: unit).path, &status) == 0 ? Int64(status.st_size) : 0
        }
        var journal = try UnitJournal(
            folders.journal(of: unit).path, manifest: unit.sha256, availableLength: archiveLength)
        let archive: TarFile? =
            folders.isPacked
            ? try TarFile(folders.unfinishedArchive(of: unit).path, length: journal.archiveLength) : nil
        let names = Set(journal.results.values.compactMap(\.path))
        if !folders.isPacked {
            for result in journal.results.values {
                guard let path = result.path, access(folders.output.appending(path: path).path, F_OK) != 0 else {
                    continue
                }
                journal.forget(result.id)
            }
        }
        state = Mutex(State(journal: journal, archive: archive, names: names))
    }

    /// Gives the archive its hidden name if an earlier process ended between its renaming and the report.
    private static func reopenArchive(of unit: UnitIndex.Unit, in folders: UnitFolders) throws(Misuse) {
        let archive = folders.archive(of: unit)
        guard access(archive.path, F_OK) == 0 else { return }
        // Then the journal still exists.
        guard access(folders.journal(of: unit).path, F_OK) == 0 else {
            throw Misuse("\(archive.path) isn't the archive of this unit; choose another output directory")
        }
        guard rename(archive.path, folders.unfinishedArchive(of: unit).path) == 0 else { throw failure(archive) }
    }

    /// Whether the unit has a report; removes what an earlier process has left beside it.
    static func isDone(_ unit: UnitIndex.Unit, in folders: UnitFolders) throws(Misuse) -> Bool {
        let report = folders.report(of: unit)
        let handle: FileHandle
        do {
            handle = try FileHandle(forReadingFrom: report)
        } catch {
            // Any other reason must not be taken for a missing report.
            guard access(report.path, F_OK) != 0, errno == ENOENT else { throw failure(report) }
            return false
        }
        defer { try? handle.close() }
        let head = String(decoding: (try? handle.read(upToCount: 512)) ?? Data(), as: UTF8.self)
        guard head.contains("\"manifest\":\"\(unit.sha256)\"") else {
            throw Misuse("\(report.path) is the report of another manifest; choose another output directory")
        }
        unlink(folders.unfinishedReport(of: unit).path)
        if unlink(folders.journal(of: unit).path) == 0, folders.isPacked {
            try? FileManager.default.removeItem(at: folders.files(of: unit))
        }
        return true
    }

    /// The numbers of the downloads that need no other attempt.
    var settled: Set<Int> {
        state.withLock { Set($0.journal.results.values.filter { !$0.isPassing }.map(\.id)) }
    }

    /// Records the end of a download, and moves its file into the archive.
    func record(_ event: RunEvent, id: Int) throws(Misuse) {
        try state.withLock { state throws(Misuse) in
            var (path, sha256): (String?, String?) = (nil, event.sha256)
            if case .success(.finished(let file)) = event.what {
                path = event.path(of: file)
                if state.archive != nil {
                    let added = try pack(file.url, event, as: event.path(of: file), &state)
                    (path, sha256) = (added.name, added.sha256)
                }
            }
            guard let result = UnitResult(event, id: id, path: path),
                let line = JSONLine(result: event, id: id, path: path, sha256: sha256)
            else { return }
            state.journal.add(result, line)
            state.uncommittedCount += 1
            let uncommitted = (state.archive?.length ?? .max) - state.journal.archiveLength
            if state.uncommittedCount >= Self.commitCount || uncommitted >= Self.commitLength { try commit(&state) }
        }
    }

    /// Completes an attempt in which each download has ended.
    ///
    /// - Returns: Whether the unit has its report, because no download may succeed later, or this was the last attempt.
    func finish(attemptLimit: Int) throws(Misuse) -> Bool {
        try state.withLock { state throws(Misuse) in
            state.journal.countAttempt()
            try commit(&state)
            let isLast = state.journal.attemptCount >= attemptLimit
            guard isLast || !state.journal.results.values.contains(where: \.isPassing) else {
                close(&state)
                return false
            }
            try state.archive?.finish()
            state.archive = nil
            if folders.isPacked {
                let (old, new) = (folders.unfinishedArchive(of: unit), folders.archive(of: unit))
                guard rename(old.path, new.path) == 0 else { throw Self.failure(new) }
                try OutputFile.synchronizeDirectory(folders.output.path)
            }
            try writeReport(state.journal)
            close(&state)
            unlink(folders.journal(of: unit).path)
            if folders.isPacked { try? FileManager.default.removeItem(at: folders.files(of: unit)) }
            return true
        }
    }

    /// Closes the unit before all of its downloads have ended.
    func suspend() throws(Misuse) {
        try state.withLock { state throws(Misuse) in
            try commit(&state)
            close(&state)
        }
    }

    /// Adds a file to the archive, unless an equal line has the same file.
    private func pack(_ file: URL, _ event: RunEvent, as name: String, _ state: inout State) throws(Misuse) -> AddedFile
    {
        var status = stat()
        let inode = lstat(file.path, &status) == 0 ? status.st_ino : nil
        // An equal line has the same file, or one that was removed when it was committed.
        if let added = state.added[file.path], inode == nil || inode == added.inode { return added }
        let added = AddedFile(name: Self.unusedName(name, state.names), sha256: event.sha256, inode: inode)
        try state.archive?.add(file, as: added.name)
        state.names.insert(added.name)
        state.added[file.path] = added
        state.staged.append(file)
        return added
    }

    /// Returns the path, with a number in its last component if the archive contains it.
    private static func unusedName(_ path: String, _ names: Set<String>) -> String {
        let components = path.utf8.split(separator: UInt8(ascii: "/"))
        let last = components.last.map { String(decoding: $0, as: UTF8.self) } ?? path
        let directory = String(decoding: path.utf8.dropLast(last.utf8.count), as: UTF8.self)
        var (name, number) = (path, 1)
        while names.contains(name) {
            number += 1
            name = directory + FileName.numbered(last, number)
        }
        return name
    }

    private func commit(_ state: inout State) throws(Misuse) {
        try state.archive?.synchronize()
        try state.journal.commit(archiveLength: state.archive?.length)
        // Another file may have taken the place of one that was replaced.
        for file in state.staged {
            var status = stat()
            guard lstat(file.path, &status) == 0, status.st_ino == state.added[file.path]?.inode else { continue }
            unlink(file.path)
            state.added[file.path]?.inode = nil
        }
        (state.staged, state.uncommittedCount) = ([], 0)
    }

    private func close(_ state: inout State) {
        state.archive?.close()
        state.archive = nil
        state.journal.close()
    }

    private func writeReport(_ journal: UnitJournal) throws(Misuse) {
        let path = folders.report(of: unit).path
        var report = try ResultFile(path, temporary: folders.unfinishedReport(of: unit).path)
        var separator = "\n    "
        for id in journal.results.keys.sorted() {
            report.add(separator + (try journal.line(of: id)))
            separator = ",\n    "
        }
        let head = JSONLine(report: unit, journal).description.dropLast()
        if let failure = report.finish(header: "\(head),\"downloads\":[", trailer: "\n]}\n") { throw failure }
        try OutputFile.synchronizeDirectory(URL(fileURLWithPath: path).deletingLastPathComponent().path)
    }

    /// Throws if the manifest isn't the one that `batch split` has written.
    private static func verify(_ unit: UnitIndex.Unit, in folders: UnitFolders) throws(Misuse) {
        let manifest = folders.manifest(of: unit)
        guard let digest = try? Digests.compute(manifest) else { throw failure(manifest) }
        guard digest == unit.sha256 else { throw Misuse("\(manifest.path) has changed since it was written") }
    }

    private static func failure(_ file: URL) -> Misuse {
        Misuse("\(file.path): \(String(cString: strerror(errno)))")
    }
}

extension JSONLine {
    /// Creates the members of the report of a unit besides its elements.
    fileprivate init(report unit: UnitIndex.Unit, _ journal: UnitJournal) {
        let results = journal.results.values
        func count(_ kind: UnitResult.Kind) -> Int { results.count { $0.kind == kind } }
        add("unit", unit.unit)
        add("manifest", unit.sha256)
        add("count", unit.count)
        add("attempts", journal.attemptCount)
        add("finished", count(.finished))
        add("skipped", count(.skipped))
        add("failed", count(.failed))
        add("bytes", results.reduce(Int64(0)) { $0 + $1.bytes })
        add("fetched", results.reduce(Int64(0)) { $0 + $1.fetched })
        let errors = Dictionary(grouping: results.compactMap(\.error)) { $0 }.mapValues(\.count)
        var histogram = JSONLine()
        for (error, count) in errors.sorted(by: { $0.key < $1.key }) { histogram.add(error, count) }
        add("errors", histogram)
    }
}
