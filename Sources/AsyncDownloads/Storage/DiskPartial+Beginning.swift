extension DiskPartial {
    func begin(_ representation: Representation) throws(DownloadError) {
        do throws(FileFailure) {
            try checkDestination()
            try giveUp()
            let file = try PartialFile.make(names, on: store.disk)
            do throws(FileFailure) {
                try file.reserve(representation.length ?? 0, names, on: store.disk)
            } catch {
                store.disk.close(file.handle)
                try? store.disk.remove(names.path(file.claim, .partial))
                throw error
            }
            withState { $0 = State(file: file, representation: representation) }
            if representation.isWorthClaiming { claim() }
        } catch {
            // The file, where the old one is still there, must not take another representation's bytes.
            withState { if !$0.isClosed { $0.failure = error } }
            throw DownloadError(error)
        }
    }

    /// Refuses a destination at which no file can be put in the end, before a byte is fetched for it.
    private func checkDestination() throws(FileFailure) {
        let destination = site.request.destination
        // A name that is still to be chosen, or bytes that are wanted in memory.
        guard !site.request.choosesName, !destination.isEmpty else { return }
        try store.disk.checkReplaceable(names.place(destination))
    }

    /// Removes the checkpoint, then the file that it speaks of, each from the state as soon as it is gone.
    private func giveUp() throws(FileFailure) {
        let (checkpoint, file) = try withState { state throws(FileFailure) in
            if state.isClosed || state.failure?.kind == .inUse { _ = try state.usableFile }
            return (state.checkpoint, state.file)
        }
        if let file { try file.checkOwnership(names, on: store.disk) }
        if let checkpoint {
            try store.disk.remove(names.checkpoint)
            withState { $0.checkpoint = nil }
            store.disk.close(checkpoint.handle)
        }
        if let file {
            try store.disk.remove(names.path(file.claim, .partial))
            withState { $0 = State() }
            store.disk.close(file.handle)
        }
    }
}

extension Representation {
    /// Whether a kill would cost enough for a file more: the bytes can be continued, and are not few.
    fileprivate var isWorthClaiming: Bool {
        validator != nil && contentCoding == nil && (length ?? .max) >= PartialFile.reservedLength
    }
}
