extension Placement {
    /// Creates a synced copy in the directory, and returns its path.
    func makeCopy(in directory: String) throws(FileFailure) -> String {
        removeCopies(in: directory)
        let other = names.path(file.claim.taken(), .copy, in: directory)
        let (copy, path) = try FileOwner(disk: disk, directory: directory).unlessOccupied(
            names.path(file.claim, .copy, in: directory), else: other
        ) { path throws(FileFailure) in
            (try disk.duplicate(file.handle, to: path), path)
        }
        defer { disk.close(copy) }
        do {
            // Some file systems do not support modes.
            try? disk.setPermissions(.ordinary, of: copy)
            store.setAttributes(ofCopy: copy, of: file.handle, in: directory)
            store.describe(copy: copy, of: file.handle, isSynced: store.synchronizes(file))
            if store.synchronizes(file) { try disk.synchronize(copy) } else { try disk.checkWrites(to: copy) }
            return path
        } catch {
            try? disk.remove(path)
            throw error
        }
    }

    /// Syncs a file that was placed in a directory that this process may not read, and therefore not sync.
    ///
    /// On local file systems, this makes the file's new name durable as well.
    func synchronizeFile(of result: Result<String, FileFailure>) -> Bool {
        guard let path = try? result.get(), let handle = try? disk.open(path, .reading) else { return false }
        defer { disk.close(handle) }
        return (try? disk.synchronize(handle)) != nil
    }

    /// Removes copies of this file that earlier processes did not finish.
    private func removeCopies(in directory: String) {
        if file.claim.isExclusive {
            try? disk.remove(names.path(file.claim, .copy, in: directory))
            return
        }
        guard let found = try? disk.names(in: directory) else { return }
        for name in found where names.isCopy(name, of: file.claim.token) {
            try? disk.remove(PartialNames.join(directory, name))
        }
    }
}
