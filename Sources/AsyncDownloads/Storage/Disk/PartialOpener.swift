/// An opening of a locked location, which finds and claims the partial file, and removes unusable files.
struct PartialOpener {
    let store: PartialStore
    let location: PartialLocation
    let names: PartialNames
    let lock: PartialLock
    /// A file that must not be removed because its bytes are about to be imported.
    let spared: FileInformation?

    /// The result of an opening: the finding, and the files that this process now owns.
    struct Opened {
        var finding: PartialFinding
        var file: ClaimedFile?
        var checkpoint: CheckpointFile?
        /// The slot of the first mark.
        var nextSlot = 0
        /// Whether marks exist that no later opening may trust.
        var hasVoidMarks = false
    }

    /// Opens the partial file.
    ///
    /// The directory is listed only in unusual cases: no checkpoint is usable although files may exist, the partial
    /// file does not have the name that follows from its token, or the lock is not exclusive.
    ///
    /// - Throws: A failure of the disk, or ``FileFailure/Kind/inUse`` if another process claims the file first.
    func run() throws(FileFailure) -> Opened {
        let usual = try CheckpointFile.read(names.checkpoint, on: disk, ownedBy: owner)
        if case .success(let found)? = usual { return try use(found) }
        // A new lock file means that no files exist.
        if usual == nil, lock.isNew { return Opened(finding: .nothing) }
        let listed = try disk.names(in: names.directory)
        let displaced = try CheckpointFile.readDisplaced(among: listed, ownedBy: owner)
        do {
            if usual != nil { try removeUnlessOfAnotherUser(names.checkpoint) }
        } catch {
            if let displaced { disk.close(displaced.handle) }
            throw error
        }
        if let displaced { return try use(withUsualName(displaced)) }
        let byteCount = try removeFiles(among: listed)
        guard case .failure(let unreadable)? = usual else { return Opened(finding: .nothing) }
        let reason: RestartReason = unreadable == .corrupt ? .checkpointCorrupt : .checkpointVersion
        return Opened(finding: .unusable(reason, discarded: byteCount))
    }

    private var disk: any FileSystem { store.disk }

    private var owner: FileOwner { FileOwner(disk: disk, names: names) }

    /// Gives the checkpoint the usual name, unless another user's file still has it.
    private func withUsualName(_ displaced: CheckpointFile) -> CheckpointFile {
        var found = displaced
        if (try? disk.rename(found.path, toUnused: names.checkpoint)) != nil { found.path = names.checkpoint }
        return found
    }

    private func use(_ found: CheckpointFile) throws(FileFailure) -> Opened {
        do {
            return try useOpen(found)
        } catch {
            disk.close(found.handle)
            throw error
        }
    }

    private func useOpen(_ found: CheckpointFile) throws(FileFailure) -> Opened {
        let record = found.checkpoint
        if let reason = mismatch(with: record) { return try discard(found, reason) }
        let list = { () throws(FileFailure) in try disk.names(in: names.directory) }
        guard let file = try found.openPartial(ownedBy: owner, listing: list) else {
            return try discard(found, becameDestination(record) ? nil : .partialMissing)
        }
        let proven: Proven
        do throws(Loss) {
            proven = try self.proven(file, found)
        } catch {
            disk.close(file.handle)
            return try discard(found, error.reason)
        }
        let claimed: ClaimedFile
        do {
            claimed = try claim(file)
        } catch {
            disk.close(file.handle)
            throw error
        }
        removeLeftovers(besides: claimed, found, wasRenamed: file.claim != claimed.claim)
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

    /// The received bytes, as far as they are proven to exist.
    private struct Proven {
        var received: IntervalSet
        var nextSlot = 0
        var hasVoidMarks = false
    }

    /// The error for a file without the bytes that its checkpoint claims.
    private struct Loss: Error {
        let reason: RestartReason
    }

    /// Determines which bytes the file contains according to its checkpoint, its marks, and its size.
    private func proven(_ file: ClaimedFile, _ found: CheckpointFile) throws(Loss) -> Proven {
        let session = store.session(of: file)
        // Unsynced bytes are lost if the machine was restarted after they were written.
        if let needed = found.checkpoint.session, needed != session { throw Loss(reason: .partialMissing) }
        var proven = Proven(received: found.received)
        let mark = found.mark(of: file.information, session: session)
        let isUnsynced = found.checkpoint.session != nil || (mark?.mark.received.count ?? 0) > found.received.count
        // The first sync reports whether the system failed to write back bytes of a process that has ended.
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

    /// Returns the reason why the checkpoint does not belong to this request, or nil if it does.
    private func mismatch(with record: Checkpoint) -> RestartReason? {
        guard record.baseName == location.baseName, record.request.key == location.request.key else {
            return .checkpointMismatch
        }
        if let expected = location.request.checksum, let recorded = record.request.checksum, expected != recorded {
            return .checksumMismatch
        }
        return nil
    }

    /// Whether the file was already placed, but the process ended before it removed the checkpoint.
    private func becameDestination(_ record: Checkpoint) -> Bool {
        let destination = record.request.destination
        guard !destination.isEmpty else { return false }
        let place = names.place(destination)
        let request = record.request
        let unnumbered =
            record.representation.suggestedName
            ?? FileName.unsuggested(request.defaultFileName, from: URLText(request.url)?.url)
        let chosenNames = [record.chosenName, disk.acceptedName(unnumbered, in: place)].compactMap(\.self)
        let places = record.request.choosesName ? chosenNames.map { PartialNames.join(place, $0) } : [place]
        return places.contains { (try? disk.information(at: $0))?.inode == record.inode }
    }

    /// Claims the file by a rename, even from a running owner; only one process can succeed (see ``PartialFile``).
    ///
    /// A file whose name follows from its token already belongs to the process with the exclusive lock.
    private func claim(_ file: ClaimedFile) throws(FileFailure) -> ClaimedFile {
        if lock.isExclusive, file.claim.isExclusive { return file }
        var claimed = file
        claimed.claim = try rename(file)
        let path = names.path(claimed.claim, .partial)
        guard try disk.information(at: path)?.isSameFile(as: file.information) == true else {
            throw .takenOver(file.handle)
        }
        return claimed
    }

    /// Gives the file the name of a new owner, and returns its claim.
    private func rename(_ file: ClaimedFile) throws(FileFailure) -> PartialNames.Claim {
        let path = names.path(file.claim, .partial)
        do {
            if lock.isExclusive {
                let claim = file.claim.exclusive
                do {
                    try disk.rename(path, toUnused: names.path(claim, .partial))
                    return claim
                } catch let error where error.kind == .exists {
                    // Another user's file has the name.
                }
            }
            let claim = file.claim.taken()
            try disk.rename(path, to: names.path(claim, .partial))
            return claim
        } catch let error where error.kind == .missing {
            throw .takenOver(file.handle)
        }
    }

    /// Removes the checkpoint, then the files, so that after a crash no checkpoint describes other bytes.
    ///
    /// - Parameters:
    ///   - found: The checkpoint.
    ///   - reason: The reason why the bytes can't be used; nil if no bytes were lost.
    private func discard(_ found: CheckpointFile, _ reason: RestartReason?) throws(FileFailure) -> Opened {
        try disk.remove(found.path)
        try removeFiles()
        disk.close(found.handle)
        guard let reason else { return Opened(finding: .nothing) }
        return Opened(finding: .unusable(reason, discarded: found.received.count))
    }

    /// Removes files that earlier processes left beside a usable checkpoint and its file; a failure is ignored.
    ///
    /// The files that a process with an exclusive lock leaves have known names, except for the copy of an interrupted
    /// import. Such a copy is left to ``PartialStore/removeLeftovers(in:includingSubdirectories:writtenBefore:)``,
    /// because finding it requires a listing of the directory.
    private func removeLeftovers(besides file: ClaimedFile, _ found: CheckpointFile, wasRenamed: Bool) {
        if lock.isExclusive, !wasRenamed, found.path == names.checkpoint {
            for suffix in [PartialNames.Suffix.temporary, .copy] { try? disk.remove(names.path(file.claim, suffix)) }
            return
        }
        // The source file of an import may be among these files; it is kept until a server has confirmed the bytes.
        _ = try? removeFiles(
            except: [names.path(file.claim, .partial), found.path],
            keepsOthers: found.checkpoint.representation.isImported)
    }

    /// Removes files of earlier processes that no checkpoint names, and returns the number of bytes in them.
    ///
    /// - Parameter listed: The names in the directory, if they are known.
    @discardableResult
    private func removeFiles(
        among listed: [String]? = nil, except kept: Set<String> = [], keepsOthers: Bool = false
    ) throws(FileFailure) -> Int64 {
        var own: [String]
        if let listed { own = listed } else { own = try disk.names(in: names.directory) }
        own = own.filter(names.isOwn)
        var bytes: Int64 = 0
        // Checkpoints are removed first, so that after a crash no checkpoint describes a missing file.
        for name in own.filter(names.isDisplacedCheckpoint) + own.filter({ !names.isDisplacedCheckpoint($0) }) {
            let path = PartialNames.join(names.directory, name)
            guard !kept.contains(path) else { continue }
            if names.claim(from: name) != nil, let information = try disk.information(at: path) {
                if spared?.isSameFile(as: information) == true || keepsOthers { continue }
                bytes = bytes.addingClamped(information.size)
            }
            try removeUnlessOfAnotherUser(path)
        }
        return bytes
    }

    /// Removes a file, unless another user created it and it cannot be removed.
    ///
    /// A file of another user must not prevent this user from downloading; its name isn't needed.
    private func removeUnlessOfAnotherUser(_ path: String) throws(FileFailure) {
        do {
            try disk.remove(path)
        } catch let error where error.kind == .denied || error.kind == .unusablePath {
            guard let information = try disk.information(at: path) else { return }
            if try owner.isPrivate(information) { throw error }
        }
    }
}

extension FileFailure {
    /// The failure when another process took over the file, which is possible only where locks do not work.
    static func takenOver(_ file: OpenFile) -> Self {
        FileFailure(.inUse, errno: 0, operation: "continue", name: file.name, reason: "another process took it over")
    }
}
