extension PartialStore {
    /// Moves the partial file of another location to `location`, if it has more bytes than the one there.
    ///
    /// The checkpoint of the new location is written first. Then the file is renamed, or copied to another volume, and
    /// the other checkpoint is removed last. Whenever the process ends, one of the two locations has a checkpoint with
    /// its file.
    ///
    /// - Parameters:
    ///   - source: The other location, of the same resource.
    ///   - location: The new location.
    ///   - opening: The opening of `location`. If the result isn't nil, the partial file owns the opening; otherwise,
    ///     the opening describes the same bytes as before.
    /// - Returns: The partial file at the new location; nil if nothing was moved, and the bytes are still at `source`.
    func adopt(from source: PartialLocation, at location: PartialLocation, _ opening: inout Opening) -> PartialFile? {
        guard holds(source), var old = try? beginOpening(source) else { return nil }
        if old.opened.hasVoidMarks {
            // Closing the partial file records that its marks are void.
            partial(source, old, medium: .file).close()
            return nil
        }
        defer { old.release(on: disk) }
        guard let file = old.opened.file, let checkpoint = old.opened.checkpoint?.checkpoint,
            case .bytes(var representation, let received) = old.opened.finding,
            received.count > opening.opened.finding.received.count
        else { return nil }
        // Bytes for which another checksum is expected are not adopted.
        if let own = location.request.checksum, let other = checkpoint.request.checksum, own != other { return nil }
        if checkpoint.request.url != location.request.url { representation.cameFromDifferentURL = true }
        let isCopy = old.lock.volume != opening.lock.volume
        var next = checkpoint
        (next.baseName, next.received, next.chosenName) = (location.baseName, received, nil)
        next.representation = representation
        (next.generation, next.request) = (checkpoint.generation + 1, location.request)
        next.request.hasSecretHeaders = checkpoint.request.hasSecretHeaders || !location.secretHeaders.isEmpty
        var adopted: Opening?
        do throws(FileFailure) {
            adopted = try adopt(file, isCopy ? nil : old.names, next, &opening)
        } catch let error where error.kind == .crossDevice {
            // Two mounts of one file system have the same device number.
            adopted = try? adopt(file, nil, next, &opening)
        } catch {}
        guard var adopted else { return nil }
        adopted.opened.finding = .bytes(representation, received)
        if source.isSpilled { bodies?.spilled.opened(source, in: self) }
        if adopted.opened.file?.handle == file.handle {
            old.opened.file = nil
        } else if let copy = adopted.opened.file, !representation.hasUnverifiedCredentials {
            CredentialLedger.shared.note(location.secretHeaders, for: copy.claim.token)
        }
        old.removeFiles(isReplaced: false, on: disk)
        opening.removeFiles(isReplaced: true, on: disk)
        return partial(location, adopted)
    }

    /// Makes the checkpoint of the new location describe the file, and gives the file its new name.
    ///
    /// - Parameter source: The names of the file's location; nil to copy the file instead of renaming it.
    /// - Returns: The opening of the new location, with its file and its checkpoint.
    private func adopt(
        _ file: ClaimedFile, _ source: PartialNames?, _ checkpoint: Checkpoint, _ opening: inout Opening
    ) throws(FileFailure) -> Opening {
        let names = opening.names
        var new = file
        if source == nil {
            new = try .copy(
                of: file.handle, length: checkpoint.received.upperBound, names, isExclusive: opening.lock.isExclusive,
                on: disk)
        }
        var next = checkpoint
        (next.token, next.inode) = (new.claim.token, new.information.inode)
        next.session = synchronizes(new) ? nil : session(of: new)
        var written: CheckpointFile?
        do throws(FileFailure) {
            let current = opening.opened.checkpoint?.path
            let found = try replaceCheckpoint(names, new, at: current, by: next)
            written = found
            if synchronizes(new) { try disk.synchronizeDirectory(names.directory) }
            if let source {
                try disk.rename(source.path(file.claim, .partial), to: names.path(file.claim, .partial))
                if synchronizes(new) { try? disk.synchronizeDirectory(names.directory) }
            }
            var adopted = opening
            adopted.opened = PartialOpener.Opened(finding: .nothing, file: new, checkpoint: found)
            return adopted
        } catch {
            let isNamed = written.map { !restoreCheckpoint(of: &opening, replacing: $0) } ?? false
            if source == nil {
                disk.close(new.handle)
                if !isNamed { try? disk.remove(names.path(new.claim, .partial)) }
            }
            throw error
        }
    }
}

extension PartialStore {
    /// Replaces `written` by the previous checkpoint of the location, or removes it.
    ///
    /// - Returns: Whether `written` no longer exists, even after a loss of power, so that its file may be removed.
    func restoreCheckpoint(of opening: inout Opening, replacing written: CheckpointFile) -> Bool {
        disk.close(written.handle)
        var restored: CheckpointFile?
        if let former = opening.opened.checkpoint {
            disk.close(former.handle)
            // The checkpoint also gets the bytes that its marks describe, which the opening has verified.
            var checkpoint = former.checkpoint
            checkpoint.received = opening.opened.finding.received
            if let file = opening.opened.file {
                restored = try? replaceCheckpoint(opening.names, file, at: written.path, by: checkpoint)
            }
        }
        opening.opened.checkpoint = restored
        if restored == nil, (try? disk.remove(written.path)) == nil { return false }
        return !synchronizes || (try? disk.synchronizeDirectory(opening.names.directory)) != nil
    }
}

extension PartialFinding {
    /// The intervals that were found.
    var received: IntervalSet {
        if case .bytes(_, let received) = self { return received }
        return IntervalSet()
    }
}
