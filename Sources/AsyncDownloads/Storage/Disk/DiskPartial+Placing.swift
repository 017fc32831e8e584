extension DiskPartial {
    func place(at targets: [PlacementTarget], length: Int64) -> [Result<String, DownloadError>] {
        let file: PartialFile
        do {
            file = try prepare(length)
        } catch {
            noteFailure(error)
            return targets.map { _ in .failure(DownloadError(error)) }
        }
        var placement = Placement(store: store, names: names, file: file)
        placement.interruptedName = withState { $0.chosenName }
        placement.willTakeName = { [self] name in record(name, for: file, length: length) }
        for target in targets { placement.put(at: target) }
        if placement.isFinished {
            finish(&placement)
        } else {
            placement.synchronizeDirectories(with: store.synchronizeDirectoryRetrying)
            if (try? file.checkOwnership(names, on: store.disk)) != nil {
                try? store.disk.setPermissions(.ownerOnly, of: file.handle)
            }
        }
        return placement.results.map { result in result.mapError { DownloadError($0) } }
    }

    /// Closes the partial after its file became a destination or is no longer needed.
    private func finish(_ placement: inout Placement) {
        // Closes the files first, because syncing directories needs descriptors, which may be exhausted.
        guard let last = takeAll() else { return }
        // If a name may be lost in a crash, the checkpoint is kept, because the old name may reappear.
        if placement.synchronizeOtherDirectories() {
            clearUp(after: &placement, hasCheckpoint: last.checkpoint != nil)
        }
        lock.release(removing: true)
    }

    /// Removes the checkpoint, and the partial file unless it became a destination.
    private func clearUp(after placement: inout Placement, hasCheckpoint: Bool) {
        // Before the directory is synced, so that one sync covers both changes.
        if hasCheckpoint { try? store.disk.remove(names.checkpoint) }
        if !placement.isTaken { try? store.disk.remove(names.path(placement.file.claim, .partial)) }
        placement.synchronizeOwnDirectory(hasChanged: hasCheckpoint)
    }

    /// Records the name that the file is about to get, so that the next process recognizes it if this one is killed.
    ///
    /// Does nothing without a checkpoint, because the next process would then not know of the file at all.
    private func record(_ name: String, for file: PartialFile, length: Int64) {
        withState { $0.chosenName = name }
        // All bytes were received, and are as durable as promised.
        let received = IntervalSet(0..<length)
        guard withState({ $0.checkpoint != nil }), let (_, next) = try? nextCheckpoint(received),
            let live = try? replaceCheckpoint(file, by: next)
        else { return }
        install(live, file, received)
    }

    /// Gives the file its final length and permissions, and makes it durable.
    private func prepare(_ length: Int64) throws(FileFailure) -> PartialFile {
        let file = try usableFile()
        try file.checkOwnership(names, on: store.disk)
        let size = try store.disk.information(of: file.handle).size
        guard size >= length else {
            throw FileFailure(
                .other, errno: 0, operation: "finish", name: file.handle.name,
                reason: "it has \(size) of \(length) bytes")
        }
        // Cuts bytes that an earlier process wrote after its checkpoint, and blocks that were allocated beyond the end.
        if size > length || length >= BlockAllocation.minimumLength { try store.disk.truncate(file.handle, to: length) }
        // Some file systems do not support modes.
        try? store.disk.setPermissions(.ordinary, of: file.handle)
        // Rule 45: writes without a sync may have failed too, which would not be reported after the rename.
        if store.synchronizes(file) { try synchronize(file) } else { try store.disk.checkWrites(to: file.handle) }
        return file
    }
}

extension DiskStore {
    package func place(
        copyOf path: String, at targets: [PlacementTarget], for location: PartialLocation
    ) -> [Result<String, DownloadError>] {
        do {
            let handle = try disk.open(path, .reading)
            defer { disk.close(handle) }
            let file = PartialFile(
                claim: .new(), handle: handle, information: try disk.information(of: handle),
                volume: disk.volumeKind(of: handle))
            var placement = Placement(store: self, names: names(of: location), file: file, isTaken: true)
            for target in targets where !target.isExactly(path) { placement.put(at: target) }
            placement.synchronizeDirectories(with: synchronizeDirectoryRetrying)
            var results = placement.results.makeIterator()
            return targets.map { target in
                // A subscriber may request the path that the file already has.
                target.isExactly(path)
                    ? .success(path) : (results.next() ?? .success(path)).mapError { DownloadError($0) }
            }
        } catch {
            return targets.map { _ in .failure(DownloadError(error)) }
        }
    }
}

extension PlacementTarget {
    fileprivate func isExactly(_ path: String) -> Bool {
        guard case .path(let own, _) = place else { return false }
        return own.hasSameBytes(as: path)
    }
}
