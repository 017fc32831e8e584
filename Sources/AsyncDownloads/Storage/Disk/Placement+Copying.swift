extension Placement {
    /// Places a copy of the file at the target.
    ///
    /// - Parameters:
    ///   - directory: The directory of the target.
    ///   - target: The target.
    ///   - replacements: The directory for replacement files, in which the copy is made; nil to make it in `directory`.
    mutating func putCopy(
        in directory: String, _ target: PlacementTarget, madeIn replacements: String? = nil
    ) throws(FileFailure) -> String {
        let copy = try makeCopy(in: replacements ?? directory, for: directory)
        do {
            return try put(copy, in: directory, target, isReplacement: replacements != nil)
        } catch {
            try? disk.remove(copy)
            throw error
        }
    }

    /// Places a copy of the file at a path that this process may access, although it may not access the directory.
    ///
    /// A sandboxed app gets such access when the user chooses a file in a save panel. The file itself isn't moved, so
    /// no bytes are lost if a step fails.
    ///
    /// - Parameters:
    ///   - directory: The directory of the target.
    ///   - target: The target.
    ///   - error: The failure of the usual way to place the file.
    mutating func putReplacement(
        in directory: String, _ target: PlacementTarget, after error: FileFailure
    ) throws(FileFailure) -> String {
        guard case .path(let path, _) = target.place, let replacements = try? disk.makeReplacementDirectory(for: path)
        else { throw error }
        defer { disk.removeReplacementDirectory(replacements) }
        do {
            return try putCopy(in: directory, target, madeIn: replacements)
        } catch let failure where failure.kind == .crossDevice {
            // The volume of the path has no directory for replacement files.
            throw error
        }
    }

    /// Creates a synced copy in the directory, and returns its path.
    ///
    /// - Parameter destination: The directory in which the copy gets its name.
    private func makeCopy(in directory: String, for destination: String) throws(FileFailure) -> String {
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
            store.setAttributes(ofCopy: copy, of: file.handle, in: destination)
            store.describe(copy: copy, of: file.handle, isSynced: store.synchronizes(file))
            if store.synchronizes(file) { try disk.synchronize(copy) } else { try disk.checkWrites(to: copy) }
            return path
        } catch {
            try? disk.remove(path)
            throw error
        }
    }

    /// Syncs a placed file whose directory this process may not read, and therefore cannot sync.
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
