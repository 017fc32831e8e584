extension DiskStore {
    package func importFile(
        at location: PartialLocation, _ open: (any FileSystem) throws(DownloadError) -> ImportedFile
    ) throws(DownloadError) -> (unfinished: UnfinishedPartial, file: ImportedFile) {
        let file = try open(disk)
        defer { disk.close(file.handle) }
        return (try importBytes(of: file, at: location), file)
    }

    private func importBytes(
        of file: ImportedFile, at location: PartialLocation
    ) throws(DownloadError) -> UnfinishedPartial {
        // Imported bytes were safe where they came from, so they are synced even if the network's bytes are not.
        let store = DiskStore(disk: disk, durability: .powerLoss, bootID: bootID)
        let partial = try store.open(location, sparing: file.information)
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

    package func removeImported(_ file: ImportedFile) {
        guard file.isTemporary, (try? disk.information(at: file.path))??.isSameFile(as: file.information) == true else {
            return
        }
        // A file that cannot be removed only takes space.
        try? disk.remove(file.path)
    }
}

extension DiskPartial {
    /// Replaces the partial by a copy of `imported`, in one step.
    ///
    /// The new checkpoint replaces the old one after the copy is on disk, and the old bytes are removed last. If any
    /// step fails, the next opening finds either the previous partial or the copy, and `imported` is unchanged.
    func importBytes(_ imported: ImportedFile) throws(DownloadError) {
        do throws(FileFailure) {
            let file = try PartialFile.copy(of: imported, names, on: store.disk)
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
    private func install(_ file: PartialFile, _ imported: ImportedFile) throws(FileFailure) -> State {
        let old = withState { $0 }
        if let own = old.file { try own.checkOwnership(names, on: store.disk) }
        var request = location.request
        // The next opening then requires a proof, unless the request has the account of the bytes.
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

extension PartialFile {
    /// Creates a synced copy of `imported` under a new name.
    fileprivate static func copy(
        of imported: ImportedFile, _ names: PartialNames, on disk: any FileSystem
    ) throws(FileFailure) -> PartialFile {
        let claim = PartialNames.Claim.new()
        let path = names.path(claim, .partial)
        let handle = try disk.duplicate(imported.handle, to: path)
        do throws(FileFailure) {
            let information = try disk.information(of: handle)
            guard information.size >= imported.received.upperBound else {
                throw FileFailure(
                    .other, errno: 0, operation: "copy", name: imported.handle.name,
                    reason: "the file has become shorter")
            }
            try disk.synchronize(handle)
            return PartialFile(
                claim: claim, handle: handle, information: information, volume: disk.volumeKind(of: handle))
        } catch {
            disk.close(handle)
            try? disk.remove(path)
            throw error
        }
    }
}
