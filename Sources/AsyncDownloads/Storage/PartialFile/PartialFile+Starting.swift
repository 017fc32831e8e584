extension PartialFile {
    /// Discards the existing bytes and begins to receive those of `representation`.
    ///
    /// The old checkpoint is removed before the first byte of the new representation is written, so that after a crash
    /// no checkpoint describes bytes of another representation. After an error the partial file accepts no bytes until
    /// another call of this method succeeds.
    ///
    /// Throws if there is not enough free space, if the bytes are written to a file as they arrive and the length is
    /// known.
    package func begin(_ representation: Representation) throws(DownloadError) {
        do throws(FileFailure) {
            try whileOpen { () throws(FileFailure) in
                if try !beginInMemory(representation) { try replaceFile(representation) }
            }
        } catch {
            // The old file may still exist, and must not receive bytes of another representation.
            withState { if !$0.isClosed { $0.failure = error } }
            throw DownloadError(error)
        }
    }

    private func replaceFile(_ representation: Representation) throws(FileFailure) {
        try removeCheckpointAndFile()
        let file = try ClaimedFile.make(names, isExclusive: lock?.isExclusive == true, on: store.disk)
        do throws(FileFailure) {
            try file.checkSpace(for: representation.length ?? 0, names, on: store.disk)
            try withState { state throws(FileFailure) in
                // Closing waits for this call to return, but has already marked the partial as closed.
                if state.isClosed { throw state.notBegun }
                let isSecret = !state.secretHeaders.isEmpty || representation.hasUnverifiedCredentials
                state = State(
                    file: file, representation: representation, epoch: state.epoch,
                    secretHeaders: state.secretHeaders, provenHeaders: state.secretHeaders, hasSecretBytes: isSecret,
                    hasSpace: true)
                moved { $0.volume = file.volume }
            }
        } catch {
            store.disk.close(file.handle)
            try? store.disk.remove(names.path(file.claim, .partial))
            throw error
        }
        if !representation.hasUnverifiedCredentials {
            CredentialLedger.shared.note(withState { $0.secretHeaders }, for: file.claim.token)
        }
        claim()
    }

    /// Removes the checkpoint, then the file that it describes, each from the state as soon as it is removed.
    private func removeCheckpointAndFile() throws(FileFailure) {
        let (checkpoint, file) = try withState { state throws(FileFailure) in
            if state.isClosed || state.failure?.kind == .inUse { _ = try state.usableFile }
            return (state.checkpoint, state.file)
        }
        if let file { try file.checkOwnership(names, on: store.disk) }
        if let checkpoint {
            try store.disk.remove(checkpoint.path)
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
