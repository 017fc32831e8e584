internal import struct Foundation.Data

/// Placing the bytes, and moving them to a partial file.
extension BufferedPartial {
    func place(at targets: [PlacementTarget], length: Int64) -> [PlacementOutcome] {
        switch prepare(targets, length) {
        case .filled(let file): return file.place(at: targets, length: length)
        case .unusable(let failure): return targets.map { _ in .failure(DownloadError(failure)) }
        case .ready(var placement):
            placement.write()
            if let file = placement.unsynchronizedFile { placement.synchronized(store.disk.failureOfSync(file)) }
            placement.rename()
            placement.synchronizeDirectories(with: store.synchronizeDirectoryRetrying)
            return placement.finish()
        }
    }

    func place(
        at targets: [PlacementTarget], length: Int64, ifWanted isWanted: @escaping @Sendable () -> Bool,
        completion: @escaping PlacementCompletion
    ) -> [PlacementOutcome]? {
        guard store.synchronizes else { return isWanted() ? place(at: targets, length: length) : [] }
        guard mayShareSyncs(targets), case .ready(let placement) = prepare(targets, length) else {
            placeBlocking(at: targets, length: length, ifWanted: isWanted, completion: completion)
            return nil
        }
        store.placementGroups.add(placement, on: lock.volume, ifWanted: isWanted, completion)
        return nil
    }

    /// Whether a placement takes no longer than writing and renaming one short file.
    ///
    /// Another directory may be on another, slower volume, and every target but the first receives a copy.
    private func mayShareSyncs(_ targets: [PlacementTarget]) -> Bool {
        volumeKind == .diskWithSharedSyncs && targets.count == 1
            && targets.allSatisfy { $0.place.directory.hasSameBytes(as: names.directory) }
    }

    private enum Preparation {
        case ready(BufferedPlacement)
        /// The partial file has the bytes.
        case filled(DiskPartial)
        case unusable(FileFailure)
    }

    private func prepare(_ targets: [PlacementTarget], _ length: Int64) -> Preparation {
        let (body, file) = state.withLock { ($0.body, $0.filled) }
        if let file { return .filled(file) }
        guard let body, body.byteCount >= length, let handle = lock.handle else { return .unusable(.notStarted) }
        return .ready(BufferedPlacement(of: self, body.prefix(length), in: handle, at: targets))
    }

    /// Places the bytes as a partial file, whose name no other owner has.
    func placeMoved(at targets: [PlacementTarget], length: Int64) -> [PlacementOutcome] {
        do throws(DownloadError) {
            let file = try state.withLock { state throws(DownloadError) in try moveToFile(&state) }
            return file.place(at: targets, length: length)
        } catch {
            return targets.map { _ in .failure(error) }
        }
    }

    /// Whether something has removed the lock file, and no other owner has created it.
    var isLockFileMissing: Bool {
        do throws(FileFailure) {
            return try store.disk.information(at: lock.path) == nil
        } catch {
            return false
        }
    }

    /// Restores the lock file after bytes were written to it, unless it has become a destination.
    func emptyLockFile(_ file: PartialFile) {
        guard (try? file.checkOwnership(names, at: lock.path, on: store.disk)) != nil else { return }
        try? store.disk.truncate(file.handle, to: 0)
        try? store.disk.setPermissions(.ownerOnly, of: file.handle)
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
