extension PartialFile {
    /// Moves the bytes from ``Medium/lockedMemory`` to a file; does nothing if they are in a file.
    ///
    /// After an error, the bytes are still in memory, because the disk may have space later.
    func moveToFile() throws(FileFailure) {
        // Under the lock, only a few bytes are written, without a sync, so a concurrent write waits only for a short
        // time.
        let hasMoved = try withState { state throws(FileFailure) in
            guard let body = state.body, medium != .memory else { return false }
            let file = try makeFile(with: body, names, lock)
            replaceBody(by: file, &state)
            return true
        }
        if hasMoved { claim() }
    }

    /// Moves the bytes from memory to disk, at `location`, with a checkpoint that claims the marked bytes.
    ///
    /// Bytes may be written at the same time; such a write does not wait for the sync. After an error, the bytes are
    /// still in memory, and the bytes at the location are unchanged.
    ///
    /// - Parameters:
    ///   - location: The new location.
    ///   - replacingMore: Whether a longer body at the location is replaced.
    /// - Returns: False if nothing was moved, because the location has more bytes of the resource, or had marks that
    ///   can't be trusted, which are removed. If the caller then closes this partial file and opens the location, no
    ///   bytes are lost. True if the bytes are on disk, or if the partial file is closed.
    func move(to location: PartialLocation, replacingMore: Bool = false) throws(DownloadError) -> Bool {
        guard isInMemory, withState({ !$0.isClosed }) else { return true }
        do {
            let location = location.onDisk
            var opening = try store.beginOpening(location)
            if opening.opened.hasVoidMarks {
                // Closing the partial file records that its marks are void.
                store.partial(location, opening, medium: .file).close()
                return false
            }
            var hasMoved = false
            defer { if !hasMoved { opening.release(on: store.disk) } }
            if !replacingMore, case .bytes(let representation, let received) = opening.opened.finding,
                representation.isProvable, received.count > withState({ $0.body?.received.count ?? 0 })
            {
                return false
            }
            while try !move(to: &opening, at: location) {}
            hasMoved = true
            if location.isSpilled { store.bodies?.spilled.opened(location, in: store) }
            claim()
            return true
        } catch {
            throw DownloadError(error)
        }
    }

    /// Writes the bytes to a file and syncs it, writes its checkpoint, and then adds the bytes that arrived meanwhile.
    ///
    /// - Returns: Whether the bytes moved; false if another representation began in the meantime.
    private func move(
        to opening: inout PartialStore.Opening, at location: PartialLocation
    ) throws(FileFailure) -> Bool {
        let last = withState { $0 }
        guard let body = last.body else { return try occupy(&opening, at: location) }
        let file = try makeFile(with: body, opening.names, opening.lock)
        var written: CheckpointFile?
        do throws(FileFailure) {
            if store.synchronizes(file) { try store.disk.synchronize(file.handle) }
            if let next = checkpoint(of: last, file, at: location, after: opening.opened.checkpoint) {
                let current = opening.opened.checkpoint?.path
                written = try store.replaceCheckpoint(opening.names, file, at: current, by: next)
                if store.synchronizes(file) { try store.disk.synchronizeDirectory(opening.names.directory) }
            }
            let live = written.map { State.LiveCheckpoint($0) }
            let hasMoved = try withState { state throws(FileFailure) in
                if state.isClosed { throw state.notBegun }
                guard state.bodyNumber == last.bodyNumber, let newer = state.body else { return false }
                // Bytes that were not marked may have been rolled back and replaced since they were copied.
                let copied = min(body.received.upperBound, last.marked?.prefixEnd ?? 0)
                try newer.write(to: file.handle, from: copied, on: store.disk)
                replaceBody(by: file, &state)
                if let live { _ = state.install(live, file, live.received, store) }
                moved { site in
                    site = Site(
                        location: location, names: opening.names, lock: opening.lock, volume: file.volume, medium: .file
                    )
                }
                return true
            }
            if hasMoved {
                removeFormerFiles(&opening, isReplaced: written != nil)
                return true
            }
        } catch {
            undo(file, written, &opening)
            throw error
        }
        undo(file, written, &opening)
        return false
    }

    /// Prepares the location for the bytes of a representation that has not begun.
    private func occupy(_ opening: inout PartialStore.Opening, at location: PartialLocation) throws(FileFailure) -> Bool
    {
        let hasMoved = try withState { state throws(FileFailure) in
            if state.isClosed { throw state.notBegun }
            guard state.body == nil else { return false }
            moved { site in
                site = Site(
                    location: location, names: opening.names, lock: opening.lock, volume: opening.volume, medium: .file)
            }
            return true
        }
        if hasMoved { removeFormerFiles(&opening, isReplaced: false) }
        return hasMoved
    }

    /// Removes the files that were at the location before the bytes moved there.
    private func removeFormerFiles(_ opening: inout PartialStore.Opening, isReplaced: Bool) {
        opening.removeFiles(isReplaced: isReplaced, on: store.disk)
        opening.closeFiles(on: store.disk)
    }

    private func undo(_ file: ClaimedFile, _ written: CheckpointFile?, _ opening: inout PartialStore.Opening) {
        // A file that a checkpoint may still name is kept.
        if let written, !store.restoreCheckpoint(of: &opening, replacing: written) {
            store.disk.close(file.handle)
        } else {
            remove(file, opening.names)
        }
    }

    /// Returns a checkpoint that claims the marked bytes of `state`; nil if no bytes were marked.
    private func checkpoint(
        of state: State, _ file: ClaimedFile, at location: PartialLocation, after former: CheckpointFile?
    ) -> Checkpoint? {
        guard let representation = state.body?.representation, let marked = state.marked, !marked.isEmpty else {
            return nil
        }
        var request = location.request
        request.hasSecretHeaders = state.isMixed || !state.provenHeaders.isEmpty || !state.secretHeaders.isEmpty
        request.subscribers = state.subscribers
        return Checkpoint(
            generation: (former?.checkpoint.generation ?? 0) + 1, baseName: location.baseName, request: request,
            representation: representation, received: marked, token: file.claim.token,
            inode: file.information.inode, session: store.synchronizes(file) ? nil : store.session(of: file))
    }

    /// Creates a file with the bytes of `body`.
    private func makeFile(
        with body: MemoryBody, _ names: PartialNames, _ lock: PartialLock?
    ) throws(FileFailure) -> ClaimedFile {
        let file = try ClaimedFile.make(names, isExclusive: lock?.isExclusive == true, on: store.disk)
        do throws(FileFailure) {
            try file.checkSpace(for: body.representation.length ?? 0, names, on: store.disk)
            try body.write(to: file.handle, from: 0, on: store.disk)
            return file
        } catch {
            remove(file, names)
            throw error
        }
    }

    private func remove(_ file: ClaimedFile, _ names: PartialNames) {
        store.disk.close(file.handle)
        try? store.disk.remove(names.path(file.claim, .partial))
    }

    /// Records that the bytes are in `file` instead of in memory.
    private func replaceBody(by file: ClaimedFile, _ state: inout State) {
        guard var representation = state.body?.representation else { return }
        if state.isMixed, location.request.account == nil { representation.hasUnverifiedCredentials = true }
        let isProven = !representation.hasUnverifiedCredentials && !state.isMixed
        if isProven { CredentialLedger.shared.note(state.provenHeaders, for: file.claim.token) }
        state.hasSecretBytes = !isProven || !state.provenHeaders.isEmpty
        (state.representation, state.file, state.body, state.hasSpace) = (representation, file, nil, true)
        moved { ($0.medium, $0.volume) = (.file, file.volume) }
    }

    /// Passes the marked bytes in memory to the ``PartialBodyStore``, and returns their intervals.
    func keep(_ last: State) -> IntervalSet {
        guard var body = last.body, let marked = last.marked else { return IntervalSet() }
        body.rollBack(to: marked)
        guard body.isResumable else { return IntervalSet() }
        // The location of a body that no subscriber requests as a file doesn't depend on a destination.
        var location = location.isSpilled ? location : location.spilled(to: store.spillDirectory)
        location.secretHeaders = last.provenHeaders
        if location.request.account == nil, last.isMixed { body.representation.hasUnverifiedCredentials = true }
        return store.bodies?.keep(body, of: location, on: store) == true ? body.received : IntervalSet()
    }
}
