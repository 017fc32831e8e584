internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct JournalFileTests {
    private static let path = "/journals/journal"

    private func disk() -> SimulatedFileSystem {
        var disk = SimulatedDisk()
        disk.directories.insert("/journals")
        return SimulatedFileSystem(disk)
    }

    private static func journal(_ reading: JournalFile.Reading) -> BackgroundJournal? {
        if case .journal(let journal) = reading { journal } else { nil }
    }

    @Test func `background 15: a missing file is empty`() {
        guard case .missing = JournalFile(disk: disk(), path: Self.path).read() else {
            Issue.record("a missing file must be reported as missing")
            return
        }
    }

    @Test func `background 3: what was written is read by the next process`() throws {
        let file = JournalFile(disk: disk(), path: Self.path)
        var options = BackgroundOptions()
        options.sharedContainerIdentifier = "group.one"
        var journal = BackgroundJournal.sample([.running, .idle(resumeData: "2-1.resume")], options: options)
        journal.update(1) { record in
            record.deliveries[0].outcome = .failed(RecordedError(DownloadError(.httpStatus, "x", statusCode: 404)))
            record.notBefore = 5
        }
        try file.write(journal)
        #expect(Self.journal(file.read()) == journal)
    }

    @Test func `background 3: after every crash at every moment, the file has the last or the next journal`() throws {
        let system = disk()
        let file = JournalFile(disk: system, path: Self.path)
        var versions: [BackgroundJournal] = []
        // The number of changes after which each version was durable.
        var durable: [Int] = []
        var journal = BackgroundJournal.sample()
        for number in 1...4 {
            _ = journal.add(BackgroundResource(url: "https://example.org/\(number)"))
            try file.write(journal)
            versions.append(journal)
            durable.append(system.changeCount)
        }
        var checkedCount = 0
        for (change, state) in system.history.enumerated() {
            let last = durable.lastIndex { $0 <= change }
            for crash in state.crashes + state.disorders {
                let next = SimulatedFileSystem(state.after(crash), behavior: .init(remembers: false))
                let reading = JournalFile(disk: next, path: Self.path).read()
                let found = Self.journal(reading).flatMap { versions.firstIndex(of: $0) }
                if case .unreadable(let error) = reading { Issue.record("after change \(change), \(crash): \(error)") }
                if let last {
                    #expect(found == last || found == last + 1, "after change \(change), \(crash)")
                } else {
                    #expect(found == nil || found == 0, "after change \(change), \(crash)")
                }
                // The next process can write, regardless of the files that are left.
                try JournalFile(disk: next, path: Self.path).write(journal)
                #expect(Self.journal(JournalFile(disk: next, path: Self.path).read()) == journal)
                checkedCount += 1
            }
        }
        #expect(checkedCount > 50)
    }

    @Test func `background 3: after a failed write, the file has the last journal`() throws {
        var journal = BackgroundJournal.sample([.running])
        for change in 0..<5 {
            let system = disk()
            let file = JournalFile(disk: system, path: Self.path)
            try file.write(journal)
            let before = journal
            _ = journal.add(BackgroundResource(url: "https://example.org/next"))
            system.behave(.init(fault: .init(change: change, kind: .noSpace)))
            #expect(throws: DownloadError.self) { try file.write(journal) }
            #expect(system.faultCount == 1)
            let reread = Self.journal(file.read())
            #expect(reread == before || change == 4 && reread == journal, "fault at change \(change)")
        }
    }

    @Test(arguments: ["", "{}", "async-downloads-journal 1 00000000\n{}", "another 1 00000000\n{}"])
    func `background 15: damaged contents are unreadable, not empty`(text: String) throws {
        let system = disk()
        try system.replaceContents(of: Self.path, by: Array(text.utf8), isSynced: true)
        guard case .unreadable(let error) = JournalFile(disk: system, path: Self.path).read() else {
            Issue.record("must be unreadable")
            return
        }
        #expect(error.code == .journalUnreadable && !error.isRetryable)
    }

    @Test func `background 15: each byte that is changed or missing makes the file unreadable`() throws {
        let system = disk()
        let file = JournalFile(disk: system, path: Self.path)
        try file.write(.sample([.running]))
        let bytes = try system.contents(of: Self.path, limit: 1 << 20)
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            for contents in [changed, Array(bytes[..<index])] {
                try system.replaceContents(of: Self.path, by: contents, isSynced: false)
                guard case .unreadable = file.read() else {
                    Issue.record("byte \(index) was not detected")
                    return
                }
            }
        }
    }

    @Test func `a journal of another format is unreadable, and says so`() throws {
        let system = disk()
        let bytes = try CheckedDocument.encode(BackgroundJournal.sample(), kind: "journal", version: 2)
        try system.replaceContents(of: Self.path, by: bytes, isSynced: true)
        guard case .unreadable(let error) = JournalFile(disk: system, path: Self.path).read() else {
            Issue.record("must be unreadable")
            return
        }
        #expect(error.detail.contains("format 2"))
    }

    @Test(arguments: [FileFailure.Kind.denied, .other, .tooManyOpenFiles])
    func `background 15: a file that cannot be opened is unreadable, as before the first unlock`(
        kind: FileFailure.Kind
    ) {
        let file = JournalFile(disk: LockedFileSystem(kind: kind), path: Self.path)
        guard case .unreadable(let error) = file.read() else {
            Issue.record("must be unreadable")
            return
        }
        #expect(error.code == .journalUnreadable)
        #expect(error.isRetryable == (kind != .other))
    }
}

/// A file system on which no file can be opened.
private struct LockedFileSystem: ForwardingFileSystem {
    let base: any FileSystem = SimulatedFileSystem()
    let kind: FileFailure.Kind

    func open(_ path: String, _ purpose: OpenPurpose) throws(FileFailure) -> OpenFile {
        throw FileFailure(kind, errno: 1, operation: "open", name: "journal", reason: "locked")
    }
}
