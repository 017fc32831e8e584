internal import struct Foundation.Data

/// Placing the bytes, and moving them to a partial file.
extension BufferedPartial {
    func place(at targets: [PlacementTarget], length: Int64) -> [Result<String, DownloadError>] {
        let (body, file) = state.withLock { ($0.body, $0.filled) }
        if let file { return file.place(at: targets, length: length) }
        do throws(FileFailure) {
            guard let body, body.byteCount >= length, let handle = lock.handle else { throw .notStarted }
            return try place(body.prefix(length), in: handle, at: targets)
        } catch  where error.kind == .inUse && isLockFileMissing {
            return placeMoved(at: targets, length: length)
        } catch {
            return targets.map { _ in .failure(DownloadError(error)) }
        }
    }

    /// Places the bytes as a partial file, whose name no other owner has.
    private func placeMoved(at targets: [PlacementTarget], length: Int64) -> [Result<String, DownloadError>] {
        do throws(DownloadError) {
            let file = try state.withLock { state throws(DownloadError) in try moveToFile(&state) }
            return file.place(at: targets, length: length)
        } catch {
            return targets.map { _ in .failure(error) }
        }
    }

    /// Whether something has removed the lock file, and no other owner has created it.
    private var isLockFileMissing: Bool {
        do throws(FileFailure) {
            return try store.disk.information(at: lock.path) == nil
        } catch {
            return false
        }
    }

    /// Writes the bytes to the lock file, and makes it the file of a target.
    private func place(
        _ bytes: Data, in handle: OpenFile, at targets: [PlacementTarget]
    ) throws(FileFailure) -> [Result<String, DownloadError>] {
        let file = PartialFile(
            claim: .new(), handle: handle, information: lock.information, volume: volumeKind)
        do {
            // The free space isn't checked: a few bytes are written at once, and a full disk loses none of them.
            try fill(file, with: bytes)
            // The name is not random, so another owner may have it where locks do not work.
            try file.checkOwnership(names, at: lock.path, on: store.disk)
        } catch {
            emptyLockFile(file)
            if error.kind == .inUse, !isLockFileMissing { state.withLock { $0.failure = error } }
            throw error
        }
        var placement = Placement(store: store, names: names, file: file, at: lock.path)
        for target in targets { placement.put(at: target) }
        if placement.isFinished {
            let last = takeAll()
            // Before directories are synced, which needs descriptors.
            lock.release(removing: !placement.isTaken)
            last?.file?.close()
        } else {
            emptyLockFile(file)
        }
        _ = placement.synchronizeOtherDirectories()
        placement.synchronizeOwnDirectory()
        return placement.results.map { result in result.mapError { DownloadError($0) } }
    }

    /// Restores the lock file after bytes were written to it, unless it has become a destination.
    private func emptyLockFile(_ file: PartialFile) {
        guard (try? file.checkOwnership(names, at: lock.path, on: store.disk)) != nil else { return }
        try? store.disk.truncate(file.handle, to: 0)
        try? store.disk.setPermissions(.ownerOnly, of: file.handle)
    }

    private func fill(_ file: PartialFile, with bytes: Data) throws(FileFailure) {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(FileFailure) in try store.disk.write(buffer, to: file.handle, at: 0) }
        }
        try result.get()
        // Some file systems do not support modes.
        try? store.disk.setPermissions(.ordinary, of: file.handle)
        // Rule 45: a failed write is not reported after the rename. A local disk, which this is, has no errors that it
        // reports only when the file is closed.
        if store.synchronizes(file) { try store.disk.synchronize(file.handle) }
    }

    /// Moves the bytes to the partial file, and returns it.
    ///
    /// After an error the bytes are still in memory, because the disk may have space later.
    func moveToFile(_ state: inout State) throws(DownloadError) -> DiskPartial {
        if let file = state.filled { return file }
        try checkOpen(state)
        let file =
            state.file
            ?? DiskPartial(
                store: store, location: location, names: names, lock: lock, opened: .init(finding: .nothing))
        state.file = file
        file.useCredentials(state.secretHeaders)
        // Without a checkpoint, this only makes later marks of earlier epochs void.
        if state.epoch > 0 { try file.rollBack(to: IntervalSet(), epoch: state.epoch) }
        if let body = state.body {
            var representation = body.representation
            if state.isMixed, location.request.account == nil { representation.hasUnverifiedCredentials = true }
            do {
                try file.begin(representation)
                try file.append(body, from: 0)
            } catch {
                file.removeFiles()
                throw error
            }
        }
        if let mark = state.mark { file.mark(mark.received, epoch: mark.epoch) }
        state.body = nil
        state.mark = nil
        state.hasMoved = true
        return file
    }
}
