/// The journal's file, and the lock that prevents other processes of the app from using the session.
extension BackgroundWorker {
    /// Reads the journal and connects to the system, unless this has already been done.
    func open(_ session: BackgroundSession, options: BackgroundOptions?) throws(DownloadError) {
        guard opened == nil else { return }
        guard environment.makeDaemon != nil else { throw environment.unsupported }
        guard let own = environment.directory(of: identifier, group: nil) else {
            throw DownloadError(.storageFailure, "the app's container is not available")
        }
        try prepare(own)
        let ownFile = JournalFile(disk: environment.disk, path: PartialNames.join(own, "journal"))
        // If the directory belongs to another session, its lock and its journal are left unchanged.
        if lock == nil { try checkOwner(of: ownFile.journal()) }
        try acquireLock(in: own)
        let ownJournal = try ownFile.journal()
        guard let wanted = options ?? ownJournal?.current.options else {
            throw DownloadError(.storageFailure, "the journal of the session does not exist")
        }
        let group = try group(wanted, ownJournal)
        let file = try group.map { group throws(DownloadError) in try journalFile(in: group) } ?? ownFile
        var shared: SharedJournalFile?
        var saved = ownJournal
        if group != nil {
            shared = try SharedJournalFile(file) { newJournal(wanted) }
            saved = shared?.journal
            try checkOwner(of: saved)
        }
        var journal = saved ?? newJournal(wanted)
        // The journal at the fixed path in the app's container names the app group, if one is used.
        if group != nil, ownJournal?.current.options.sharedContainerIdentifier != group {
            try ownFile.write(BackgroundJournal(identifier: identifier, token: journal.token, options: wanted))
        }
        let savedRevision = journal.revision.number
        if let options { journal.use(options) }
        journal.prune(before: environment.time.date.secondsSinceEpoch)
        var core = BackgroundCore(journal)
        core.isInForeground = environment.lifecycle.isInForeground
        opened = Opened(
            session: session, core: core, hasFile: saved != nil, savedRevision: savedRevision, file: file,
            shared: shared, spool: Spool(disk: environment.disk, directory: PartialNames.directory(of: file.path)))
        connect()
    }

    /// Throws an error if a journal belongs to another session; their directories may have the same name.
    private func checkOwner(of journal: BackgroundJournal?) throws(DownloadError) {
        guard let journal, journal.identifier != identifier else { return }
        throw DownloadError(
            .journalUnreadable, "the directory has the journal of another session; use another identifier")
    }

    private func newJournal(_ options: BackgroundOptions) -> BackgroundJournal {
        BackgroundJournal(
            identifier: identifier, token: hexadecimal(UInt64.random(in: .min ... .max)), options: options)
    }

    /// Returns the app group whose container has the journal, or nil for the app's own container.
    private func group(
        _ wanted: BackgroundOptions, _ ownJournal: BackgroundJournal?
    ) throws(DownloadError) -> String? {
        let group = wanted.sharedContainerIdentifier
        guard let ownJournal else { return group }
        let recordedGroup = ownJournal.current.options.sharedContainerIdentifier
        if recordedGroup != group {
            let recorded =
                try recordedGroup.map { group throws(DownloadError) in
                    try journalFile(in: group).journal()
                } ?? ownJournal
            guard recorded?.isEmpty ?? true else {
                throw DownloadError(
                    .unsupported, "the shared container of a session with unfinished downloads cannot be changed")
            }
        }
        return ownJournal.isEmpty ? group : nil
    }

    private func journalFile(in group: String) throws(DownloadError) -> JournalFile {
        guard let directory = environment.directory(of: identifier, group: group) else {
            throw DownloadError(.unsupported, "the container of the app group \(group) is not available")
        }
        try prepare(directory)
        return JournalFile(disk: environment.disk, path: PartialNames.join(directory, "journal"))
    }

    private func prepare(_ directory: String) throws(DownloadError) {
        do throws(FileFailure) {
            try environment.disk.makeDirectories(directory)
        } catch {
            throw DownloadError(error)
        }
        environment.prepareDirectory(directory)
    }

    /// Acquires the lock of the session.
    ///
    /// The lock file is in the app's own container, because the system terminates a process that is suspended while it
    /// holds a lock on a file in an app group's container. In such a container, ``SharedJournalFile`` merges the
    /// changes of several processes.
    private func acquireLock(in directory: String) throws(DownloadError) {
        guard lock == nil else { return }
        let disk = environment.disk
        let file: OpenFile
        do throws(FileFailure) {
            file = try disk.openOrCreate(PartialNames.join(directory, "lock"))
        } catch {
            throw DownloadError(error)
        }
        let isLocked: Bool
        do throws(FileFailure) {
            isLocked = try disk.lock(file)
        } catch {
            guard error.kind == .unsupported else {
                disk.close(file)
                throw DownloadError(error)
            }
            isLocked = true
        }
        guard isLocked else {
            disk.close(file)
            throw DownloadError(.sessionInUse, "another process uses the background session \(identifier)")
        }
        lock = file
    }

    /// Renames a damaged journal, so that the session can be used again.
    ///
    /// - Returns: Whether the journal was damaged. A journal that may become readable isn't renamed.
    func removeDamagedJournal() throws(DownloadError) -> Bool {
        guard opened == nil, let own = environment.directory(of: identifier, group: nil) else { return false }
        try prepare(own)
        try acquireLock(in: own)
        var file = JournalFile(disk: environment.disk, path: PartialNames.join(own, "journal"))
        if case .journal(let journal) = file.read(), let group = journal.current.options.sharedContainerIdentifier {
            file = try journalFile(in: group)
        }
        guard case .unreadable(let error) = file.read(), !error.isRetryable else { return false }
        do throws(FileFailure) {
            try environment.disk.rename(file.path, to: "\(file.path).damaged")
            try environment.disk.synchronizeDirectory(PartialNames.directory(of: file.path))
        } catch {
            throw DownloadError(error)
        }
        return true
    }
}
