extension PartialStore {
    /// Returns the unfinished partial files in `directory` that have a readable checkpoint, sorted by name.
    ///
    /// A checkpoint may have been forged. A partial file is therefore omitted if its destination is not below the
    /// directory that contains it, or if a symbolic link leads to it.
    ///
    /// - Parameters:
    ///   - directory: The directory.
    ///   - includingSubdirectories: Whether the directories below `directory` are searched as well.
    ///   - trustsDestinations: Whether absolute destinations are also accepted if only this user can write to
    ///     `directory`. In subdirectories, they are never accepted.
    func unfinished(
        in directory: String, includingSubdirectories: Bool = false, trustsDestinations: Bool
    ) throws(DownloadError) -> [UnfinishedPartial] {
        var found: [UnfinishedPartial] = []
        do {
            try searchHiddenFiles(in: directory, includingSubdirectories: includingSubdirectories) { files in
                let trustsAbsolute =
                    trustsDestinations && files.directory.hasSameBytes(as: directory) && isPrivate(directory)
                found += files.locations.compactMap { location in
                    unfinished(location).flatMap { allowed($0, trustsAbsolute: trustsAbsolute) }
                }
            }
        } catch let error where error.kind == .missing {
            return []
        } catch {
            throw DownloadError(error)
        }
        return found
    }

    /// Removes the subscribers whose destination may have been forged; nil if the request's own destination may have
    /// been.
    private func allowed(_ unfinished: UnfinishedPartial, trustsAbsolute: Bool) -> UnfinishedPartial? {
        let directory = unfinished.location.directory
        func isAllowed(_ destination: String, _ choosesName: Bool) -> Bool {
            switch RecordedDestination(text: destination) {
            case .noFile?: true
            case .below(let components)?:
                isBelow(directory, choosesName ? components[...] : components.dropLast())
            case .absolute?, .inContainer?: trustsAbsolute
            case nil: false
            }
        }
        var unfinished = unfinished
        let request = unfinished.location.request
        unfinished.location.request.subscribers.removeAll { !isAllowed($0.destination, $0.choosesName) }
        return isAllowed(request.destination, request.choosesName) ? unfinished : nil
    }

    /// Whether only this user can write to the directory.
    private func isPrivate(_ directory: String) -> Bool {
        guard let information = try? disk.information(at: directory), information.kind == .directory else {
            return false
        }
        return information.permissions & 0o022 == 0
            && (try? FileOwner(disk: disk, directory: directory).isOwn(information)) == true
    }

    /// Whether every existing component below the directory is a directory, and none is a symbolic link.
    ///
    /// Missing directories are created when the file is placed.
    private func isBelow(_ directory: String, _ components: ArraySlice<String>) -> Bool {
        var path = directory
        for component in components {
            path = PartialNames.join(path, component)
            guard let information = try? disk.information(at: path) else { return true }
            if information.kind != .directory { return false }
        }
        return true
    }

    /// Returns the partial file at `location` on disk without owning it, or nil if it does not exist or cannot be read.
    func unfinished(at location: PartialLocation) -> UnfinishedPartial? {
        let names = names(of: location)
        guard holds(location) else { return nil }
        return unfinished(names) { () throws(FileFailure) in try disk.names(in: names.directory) }
    }

    /// Reads the checkpoint of a location without owning it; nil if it cannot be read or its bytes no longer exist.
    func unfinished(_ location: HiddenFiles.Location) -> UnfinishedPartial? {
        guard location.hasCheckpoint else { return nil }
        return unfinished(location.names) { location.files.map(\.name) }
    }

    /// Reads a checkpoint without owning it; nil if it cannot be read or its bytes no longer exist.
    ///
    /// - Parameter list: Returns the names in the directory, or at least the names that belong to the location.
    private func unfinished(
        _ names: PartialNames, _ list: () throws(FileFailure) -> [String]
    ) -> UnfinishedPartial? {
        let owner = FileOwner(disk: disk, names: names)
        guard let found = try? checkpoint(owner, list) else { return nil }
        defer { disk.close(found.handle) }
        let record = found.checkpoint
        let location = PartialLocation(
            directory: names.directory, baseName: record.baseName, request: record.request)
        guard self.names(of: location).stem == names.stem,
            let file = try? found.openPartial(ownedBy: owner, listing: list)
        else { return nil }
        defer { disk.close(file.handle) }
        let mark = found.mark(of: file.information, session: session(of: file))?.mark
        return UnfinishedPartial(
            location: location, representation: record.representation, received: mark?.received ?? found.received,
            fileName: file.handle.name)
    }

    private func checkpoint(
        _ owner: FileOwner, _ list: () throws(FileFailure) -> [String]
    ) throws(FileFailure) -> CheckpointFile? {
        let usual = try CheckpointFile.read(owner.names.checkpoint, on: disk, ownedBy: owner)
        if case .success(let found)? = usual { return found }
        return try CheckpointFile.readDisplaced(among: list(), ownedBy: owner)
    }
}
