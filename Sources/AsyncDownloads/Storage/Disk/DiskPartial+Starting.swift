extension DiskPartial {
    func begin(_ representation: Representation) throws(DownloadError) {
        do throws(FileFailure) {
            try whileOpen { () throws(FileFailure) in try replaceFile(representation) }
        } catch {
            // The old file may still exist, and must not receive bytes of another representation.
            withState { if !$0.isClosed { $0.failure = error } }
            throw DownloadError(error)
        }
    }

    private func replaceFile(_ representation: Representation) throws(FileFailure) {
        try removeCheckpointAndFile()
        let file = try PartialFile.make(names, on: store.disk)
        do throws(FileFailure) {
            try file.checkSpace(for: representation.length ?? 0, names, on: store.disk)
            try withState { state throws(FileFailure) in
                // Closing waits for this call to return, but has already marked the partial as closed.
                if state.isClosed { throw state.notBegun }
                let isSecret = !state.secretHeaders.isEmpty || representation.hasUnverifiedCredentials
                state = State(
                    file: file, representation: representation, epoch: state.epoch,
                    secretHeaders: state.secretHeaders, hasSecretBytes: isSecret, hasSpace: true)
            }
        } catch {
            store.disk.close(file.handle)
            try? store.disk.remove(names.path(file.claim, .partial))
            throw error
        }
        // A body that was moved from memory may still have unverified credentials.
        if !representation.hasUnverifiedCredentials {
            CredentialLedger.shared.note(withState { $0.secretHeaders }, for: file.claim.token)
        }
        if representation.isWorthClaiming { claim() }
    }

    /// Removes the checkpoint and the file after a failed start, and keeps the lock.
    func removeFiles() {
        try? removeCheckpointAndFile()
    }

    /// Removes the checkpoint, then the file that it describes, each from the state as soon as it is removed.
    private func removeCheckpointAndFile() throws(FileFailure) {
        let (checkpoint, file) = try withState { state throws(FileFailure) in
            if state.isClosed || state.failure?.kind == .inUse { _ = try state.usableFile }
            return (state.checkpoint, state.file)
        }
        if let file { try file.checkOwnership(names, on: store.disk) }
        if checkpoint != nil {
            try store.disk.remove(names.checkpoint)
            releaseCheckpoint()
        }
        if let file {
            try store.disk.remove(names.path(file.claim, .partial))
            let isOurs = withState { state in
                guard !state.isClosed else { return false }
                state = State(epoch: state.epoch, secretHeaders: state.secretHeaders)
                return true
            }
            if isOurs { store.disk.close(file.handle) }
        }
    }
}

extension Representation {
    /// Whether an early checkpoint is worth an additional file: the bytes can be continued, and there are many.
    fileprivate var isWorthClaiming: Bool {
        validator != nil && contentCoding == nil && (length ?? .max) >= BlockAllocation.minimumLength
    }
}
