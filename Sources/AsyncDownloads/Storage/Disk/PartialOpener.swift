/// An opening of a locked location, which finds and claims the partial and removes files that cannot be used.
struct PartialOpener {
    let store: PartialStore
    let location: PartialLocation
    let names: PartialNames
    /// Whether files may exist; false if the lock file is new, which avoids listing the directory for small downloads.
    let mayHoldFiles: Bool
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

    /// Opens the partial.
    ///
    /// - Throws: A failure of the disk, or ``FileFailure/Kind/inUse`` if another process claims the file first.
    func run() throws(FileFailure) -> Opened {
        switch try CheckpointFile.read(names.checkpoint, on: disk, ownedBy: owner) {
        case nil:
            if mayHoldFiles { try removeFiles() }
            return Opened(finding: .nothing)
        case .failure(let unreadable):
            try removeUnlessOfAnotherUser(names.checkpoint)
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
        if let reason = mismatch(with: record) { return try discard(found, reason) }
        guard let file = try openPartial(record) else {
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
        // Leftovers are not a reason to fail. The file that the bytes were imported from may be among them; it is kept
        // until a server has confirmed the bytes.
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

    /// The received bytes, as far as they are proven to exist.
    private struct Proven {
        var received: IntervalSet
        var nextSlot = 0
        var hasVoidMarks = false
    }

    /// An error: the file does not contain what its checkpoint claims.
    private struct Loss: Error {
        let reason: RestartReason
    }

    /// Determines which bytes the file contains according to its checkpoint, its marks, and its size.
    private func proven(_ file: ClaimedFile, _ found: CheckpointFile) throws(Loss) -> Proven {
        let session = store.session(of: file)
        // Bytes that were not synced exist only on the boot of the machine on which they were written.
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
        guard record.baseName == location.baseName,
            ResourceIdentity(record.request) == ResourceIdentity(location.request)
        else { return .checkpointMismatch }
        if let expected = location.request.checksum, let recorded = record.request.checksum, expected != recorded {
            return .checksumMismatch
        }
        return nil
    }

    /// Opens the file that the checkpoint names, after verifying its identity.
    private func openPartial(_ record: Checkpoint) throws(FileFailure) -> ClaimedFile? {
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
                    return ClaimedFile(
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

    /// Whether the file was already placed and the process ended before it removed the checkpoint.
    private func becameDestination(_ record: Checkpoint) -> Bool {
        let destination = record.request.destination
        guard !destination.isEmpty else { return false }
        let place = names.place(destination)
        let chosenNames = [record.chosenName, record.baseName, record.representation.suggestedName].compactMap(\.self)
        let places = record.request.choosesName ? chosenNames.map { PartialNames.join(place, $0) } : [place]
        return places.contains { (try? disk.information(at: $0))?.inode == record.inode }
    }

    /// Claims the file by a rename, even from a running owner; only one process can succeed (see ``PartialFile``).
    private func claim(_ file: ClaimedFile) throws(FileFailure) -> ClaimedFile {
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

    /// Removes the checkpoint, then the files, so that after a crash no checkpoint describes other bytes.
    ///
    /// If `reason` is nil, no bytes were lost.
    private func discard(_ found: CheckpointFile, _ reason: RestartReason?) throws(FileFailure) -> Opened {
        try disk.remove(names.checkpoint)
        try removeFiles()
        disk.close(found.handle)
        guard let reason else { return Opened(finding: .nothing) }
        return Opened(finding: .unusable(reason, discarded: found.received.count))
    }

    /// Removes files of earlier processes that no checkpoint names, and returns the number of bytes in them.
    @discardableResult
    private func removeFiles(except file: ClaimedFile? = nil, keepsOthers: Bool = false) throws(FileFailure) -> Int64 {
        let kept = file.map { names.path($0.claim, .partial) }
        var bytes: Int64 = 0
        for name in try disk.names(in: names.directory) where names.isOwn(name) {
            let path = PartialNames.join(names.directory, name)
            guard path != kept else { continue }
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
    /// Such a file has a name that is not needed otherwise, and must not prevent this user from downloading.
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
