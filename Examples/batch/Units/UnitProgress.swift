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
        /// The names of the files that this process has added, by their paths.
        var added: [String: String] = [:]
        /// The files that are in the archive, but not yet in the file of the journal.
        var staged: [URL] = []
    }

    /// The number of files, and of bytes, after which an archive is made durable.
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
            // An earlier process may have ended between the renaming of the archive and the report.
            rename(folders.archive(of: unit).path, folders.unfinishedArchive(of: unit).path)
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

    /// Whether the unit has a report.
    static func isDone(_ unit: UnitIndex.Unit, in folders: UnitFolders) throws(Misuse) -> Bool {
        let report = folders.report(of: unit)
        guard let handle = try? FileHandle(forReadingFrom: report) else { return false }
        defer { try? handle.close() }
        let head = String(decoding: (try? handle.read(upToCount: 512)) ?? Data(), as: UTF8.self)
        guard head.contains("\"manifest\":\"\(unit.sha256)\"") else {
            throw Misuse("\(report.path) is the report of another manifest; choose another output directory")
        }
        return true
    }

    /// The numbers of the downloads that need no further attempt.
    var settled: Set<Int> {
        state.withLock { Set($0.journal.results.values.filter { !$0.isPassing }.map(\.id)) }
    }

    /// Records the end of a download, and moves its file into the archive.
    func record(_ event: RunEvent, id: Int) throws(Misuse) {
        try state.withLock { state throws(Misuse) in
            var path: String?
            if case .success(.finished(let file)) = event.what {
                path = event.path(of: file)
                if state.archive != nil { path = try pack(file.url, as: event.path(of: file), &state) }
            }
            guard let result = UnitResult(event, id: id, path: path),
                let line = JSONLine(result: event, id: id, path: path)
            else { return }
            state.journal.add(result, line)
            let uncommitted = (state.archive?.length ?? .max) - state.journal.archiveLength
            if state.staged.count >= Self.commitCount || uncommitted >= Self.commitLength { try commit(&state) }
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

    /// Adds a file to the archive, and returns its name there.
    private func pack(_ file: URL, as name: String, _ state: inout State) throws(Misuse) -> String {
        // Two equal lines have one file.
        if let added = state.added[file.path],
            state.staged.contains(file) || !FileManager.default.fileExists(atPath: file.path)
        {
            return added
        }
        let unused = Self.unusedName(name, state.names)
        try state.archive?.add(file, as: unused)
        state.names.insert(unused)
        state.added[file.path] = unused
        state.staged.append(file)
        return unused
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
        for file in state.staged { unlink(file.path) }
        state.staged = []
    }

    private func close(_ state: inout State) {
        state.archive?.close()
        state.archive = nil
        state.journal.close()
    }

    private func writeReport(_ journal: UnitJournal) throws(Misuse) {
        let path = folders.report(of: unit).path
        var report = try ResultFile(path)
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
