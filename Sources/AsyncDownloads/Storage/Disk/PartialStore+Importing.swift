extension PartialStore {
    /// Copies the bytes of the file that `open` opens into the partial file at `location`; the original is kept.
    ///
    /// Nothing is copied if the partial file already has at least as many provable bytes, or if no server could prove
    /// the file's bytes. The result describes the bytes that a download can continue; its ``Representation/isImported``
    /// states whether they come from the file.
    ///
    /// - Throws: ``DownloadError/Code/partialInUse`` while another owner has the partial file, or a disk error. In both
    ///   cases, neither the file nor the existing partial file is lost.
    func importFile(
        at location: PartialLocation, _ open: (any FileSystem) throws(DownloadError) -> ImportedFile
    ) throws(DownloadError) -> (unfinished: UnfinishedPartial, file: ImportedFile) {
        let file = try open(disk)
        defer { disk.close(file.handle) }
        return (try importBytes(of: file, at: location), file)
    }

    private func importBytes(
        of file: ImportedFile, at location: PartialLocation
    ) throws(DownloadError) -> UnfinishedPartial {
        // Imported bytes were already durable, so the copy is synced even if received bytes are not.
        let store = PartialStore(disk: disk, durability: .powerLoss, bootID: bootID)
        let partial = try store.openFile(location.onDisk, sparing: file.information)
        defer { partial.close() }
        if case .bytes(let representation, let received) = partial.finding {
            let isBetter = representation.isProvable && received.count >= file.received.count
            if isBetter || !file.representation.isProvable {
                return UnfinishedPartial(location: location, representation: representation, received: received)
            }
        }
        var file = file
        if file.representation.isProvable, !file.received.isEmpty {
            file.representation.isImported = true
            try partial.importBytes(file)
        }
        return UnfinishedPartial(location: location, representation: file.representation, received: file.received)
    }

    /// Removes a file whose bytes were copied and confirmed, if it is temporary and unchanged.
    func removeImported(_ file: ImportedFile) {
        // Another download may be using a new file at the same path by now.
        guard file.isTemporary, (try? disk.information(at: file.path))??.isUnchanged(since: file.information) == true
        else { return }
        // A failure is ignored, because a file that remains only takes space.
        try? disk.remove(file.path)
    }
}

extension PartialFile {
    /// Replaces the partial by a copy of `imported`, in one step.
    ///
    /// The new checkpoint replaces the old one after the copy is on disk, and the old bytes are removed last. If a step
    /// fails, the next opening finds either the previous partial or the copy, and `imported` is unchanged.
    func importBytes(_ imported: ImportedFile) throws(DownloadError) {
        do throws(FileFailure) {
            let file = try ClaimedFile.copy(
                of: imported.handle, length: imported.received.upperBound, names,
                isExclusive: lock?.isExclusive == true, on: store.disk)
            let old: State
            do throws(FileFailure) {
                old = try install(file, imported)
            } catch {
                store.disk.close(file.handle)
                try? store.disk.remove(names.path(file.claim, .partial))
                throw error
            }
            old.close(on: store.disk)
            try store.disk.synchronizeDirectory(names.directory)
            if let file = old.file { try? store.disk.remove(names.path(file.claim, .partial)) }
        } catch {
            throw DownloadError(error)
        }
    }

    /// Makes the checkpoint describe `file`, and returns the previous state.
    private func install(_ file: ClaimedFile, _ imported: ImportedFile) throws(FileFailure) -> State {
        let old = withState { $0 }
        if let own = old.file { try own.checkOwnership(names, on: store.disk) }
        var request = location.request
        // With secret headers, the next opening requires a proof unless the request names an account.
        if imported.hasSecretHeaders { request.hasSecretHeaders = true }
        let checkpoint = Checkpoint(
            generation: (old.checkpoint?.generation ?? 0) + 1, baseName: location.baseName, request: request,
            representation: imported.representation, received: imported.received, token: file.claim.token,
            inode: file.information.inode, session: nil)
        let live = try replaceCheckpoint(file, by: checkpoint)
        withState { state in
            state = State(
                file: file, representation: imported.representation, checkpoint: live,
                secretHeaders: state.secretHeaders, hasSecretBytes: imported.hasSecretHeaders)
        }
        return old
    }
}
