/// Finds out what is kept at a site that has just been locked, claims it, and removes what is of no use.
struct PartialOpener {
    let store: DiskStore
    let location: PartialLocation
    let names: PartialNames
    /// False where the lock file is new, which spares listing the directory for each of many small downloads.
    let mayHoldFiles: Bool
    /// A file that stays in any case, since its bytes are about to be taken over.
    let spared: FileInformation?

    /// What was found, and what is now this process's own.
    struct Opened {
        var finding: PartialFinding
        var file: PartialFile?
        var checkpoint: CheckpointFile?
        /// The slot that the first mark goes to.
        var nextSlot = 0
        /// Whether marks are there that must not be believed by anyone later.
        var hasVoidMarks = false
    }

    /// Opens what is there.
    ///
    /// - Throws: Failures of the disk, and ``FileFailure/Kind/inUse`` where another process is quicker.
    func run() throws(FileFailure) -> Opened {
        switch try CheckpointFile.read(names.checkpoint, on: disk, ownedBy: owner) {
        case nil:
            if mayHoldFiles { try removeFiles() }
            return Opened(finding: .nothing)
        case .failure(let unreadable):
            try removeUnlessForeign(names.checkpoint)
            let reason: RestartReason = unreadable == .corrupt ? .checkpointCorrupt : .checkpointVersion
            return Opened(finding: .unusable(reason, discarded: try removeFiles()))
        case .success(let found):
            do {
                return try use(found)
            } catch {
                disk.close(found.handle)
                throw error
            }
        }
    }

    private var disk: any FileSystem { store.disk }

    private var owner: FileOwner { FileOwner(disk: disk, names: names) }

    private func use(_ found: CheckpointFile) throws(FileFailure) -> Opened {
        let record = found.checkpoint
        if let reason = mismatch(with: record) { return try abandonCheckpoint(found, reason) }
        guard let file = try openPartial(record) else {
            return try abandonCheckpoint(found, becameDestination(record) ? nil : .partialMissing)
        }
        let proven: Proven
        do throws(Loss) {
            proven = try self.proven(file, found)
        } catch {
            disk.close(file.handle)
            return try abandonCheckpoint(found, error.reason)
        }
        let claimed: PartialFile
        do {
            claimed = try claim(file)
        } catch {
            disk.close(file.handle)
            throw error
        }
        // Leftovers are a nuisance and no reason to fail.
        // The file that bytes were imported from may be beside them, and stays until a server has confirmed them.
        _ = try? removeFiles(except: claimed, keepsOthers: record.representation.isImported)
        var representation = record.representation
        if record.request.url != location.request.url { representation.cameFromDifferentURL = true }
        let isSecret = record.request.hasSecretHeaders || !location.secretHeaders.isEmpty
        representation.hasUnverifiedCredentials =
            isSecret && location.request.account == nil
            && !CredentialLedger.shared.knows(location.secretHeaders, for: record.token)
        if representation.hasUnverifiedCredentials { CredentialLedger.shared.forget(record.token) }
        return Opened(
            finding: .bytes(representation, proven.received), file: claimed, checkpoint: found,
            nextSlot: proven.nextSlot, hasVoidMarks: proven.hasVoidMarks)
    }

    /// What a file holds.
    private struct Proven {
        var received: IntervalSet
        var nextSlot = 0
        var hasVoidMarks = false
    }

    /// The file does not hold what is said of it.
    private struct Loss: Error {
        let reason: RestartReason
    }

    /// What the file holds by all that is said of it.
    private func proven(_ file: PartialFile, _ found: CheckpointFile) throws(Loss) -> Proven {
        let session = store.session(of: file)
        // Bytes that were never synced are there in the machine's one run that wrote them.
        if let needed = found.checkpoint.session, needed != session { throw Loss(reason: .partialMissing) }
        var proven = Proven(received: found.received)
        let mark = found.mark(of: file.information, session: session)
        let isUnsynced = found.checkpoint.session != nil || (mark?.mark.received.count ?? 0) > found.received.count
        // The system reports once that it could not write back what a process that is gone had written.
        if isUnsynced, (try? disk.synchronize(file.handle)) == nil {
            if found.checkpoint.session != nil { throw Loss(reason: .partialMissing) }
            proven.hasVoidMarks = true
        } else if let mark {
            proven.received = mark.mark.received
            proven.nextSlot = (mark.slot + 1) % CheckpointMark.slotCount
        }
        if file.information.size < proven.received.upperBound { throw Loss(reason: .partialTruncated) }
        return proven
    }

    /// Why the checkpoint is not one of this request's bytes.
    private func mismatch(with record: Checkpoint) -> RestartReason? {
        guard record.baseName == location.baseName, record.request.resource == location.request.resource,
            record.request.headers == location.request.headers, record.request.account == location.request.account
        else { return .checkpointMismatch }
        if let expected = location.request.checksum, let recorded = record.request.checksum, expected != recorded {
            return .checksumMismatch
        }
        return nil
    }

    /// Opens the file that the checkpoint speaks of, after making sure that it is that file.
    private func openPartial(_ record: Checkpoint) throws(FileFailure) -> PartialFile? {
        for name in try disk.names(in: names.directory) {
            guard let claim = names.claim(from: name), claim.token == record.token else { continue }
            let handle: OpenFile
            do {
                handle = try disk.open(names.path(claim, .partial), .existing)
            } catch let error where error.kind == .missing || error.kind == .unusablePath {
                continue
            }
            do {
                let information = try disk.information(of: handle)
                if information.inode == record.inode, try owner.isPrivate(information) {
                    return PartialFile(
                        claim: claim, handle: handle, information: information, volume: disk.volumeKind(of: handle))
                }
            } catch {
                disk.close(handle)
                throw error
            }
            disk.close(handle)
        }
        return nil
    }

    /// Whether the partial was put in place already, and the process ended before its checkpoint was gone.
    private func becameDestination(_ record: Checkpoint) -> Bool {
        let destination = record.request.destination
        guard !destination.isEmpty else { return false }
        let place = names.place(destination)
        let chosenNames = [record.chosenName, record.baseName, record.representation.suggestedName].compactMap(\.self)
        let places = record.request.choosesName ? chosenNames.map { PartialNames.join(place, $0) } : [place]
        return places.contains { (try? disk.information(at: $0))?.inode == record.inode }
    }

    /// Takes the file from whoever may have it, which one process can do once: see ``DiskPartial``.
    private func claim(_ file: PartialFile) throws(FileFailure) -> PartialFile {
        var claimed = file
        claimed.claim = file.claim.taken()
        let path = names.path(claimed.claim, .partial)
        do {
            try disk.rename(names.path(file.claim, .partial), to: path)
        } catch let error where error.kind == .missing {
            throw .takenOver(file.handle)
        }
        guard try disk.information(at: path)?.isSameFile(as: file.information) == true else {
            throw .takenOver(file.handle)
        }
        return claimed
    }

    /// Removes the checkpoint, then the files, so that no crash leaves a checkpoint that speaks of other bytes.
    ///
    /// Without a reason nothing was lost.
    private func abandonCheckpoint(_ found: CheckpointFile, _ reason: RestartReason?) throws(FileFailure) -> Opened {
        try disk.remove(names.checkpoint)
        try removeFiles()
        disk.close(found.handle)
        guard let reason else { return Opened(finding: .nothing) }
        return Opened(finding: .unusable(reason, discarded: found.received.count))
    }

    /// Removes what earlier processes left and no checkpoint speaks of; the answer is how many bytes there were.
    @discardableResult
    private func removeFiles(except file: PartialFile? = nil, keepsOthers: Bool = false) throws(FileFailure) -> Int64 {
        let kept = file.map { names.path($0.claim, .partial) }
        var bytes: Int64 = 0
        for name in try disk.names(in: names.directory) where names.isOwn(name) {
            let path = PartialNames.join(names.directory, name)
            guard path != kept else { continue }
            if names.claim(from: name) != nil, let information = try disk.information(at: path) {
                if spared?.isSameFile(as: information) == true || keepsOthers { continue }
                bytes = bytes.addingClamped(information.size)
            }
            try removeUnlessForeign(path)
        }
        return bytes
    }

    /// Removes a file, unless it is one that somebody else has put at its name and that cannot be removed.
    ///
    /// It takes a name that nothing else here needs, and must not shut this user out.
    private func removeUnlessForeign(_ path: String) throws(FileFailure) {
        do {
            try disk.remove(path)
        } catch let error where error.kind == .denied || error.kind == .unusablePath {
            guard let information = try disk.information(at: path) else { return }
            if try owner.isPrivate(information) { throw error }
        }
    }
}

extension FileFailure {
    /// Another process took over the file, which is possible only where locks do not work.
    static func takenOver(_ file: OpenFile) -> Self {
        FileFailure(.inUse, errno: 0, operation: "go on with", name: file.name, reason: "taken by another process")
    }
}
