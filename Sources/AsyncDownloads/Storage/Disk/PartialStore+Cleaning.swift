extension PartialStore {
    /// Removes files from `directory` that no download can continue.
    ///
    /// The removed files belong to this user, were last written before `date`, are not named by a checkpoint, and have
    /// a lock that can be acquired. If the directory doesn't exist, nothing is removed.
    package func removeLeftovers(
        in directory: String, includingSubdirectories: Bool = false, writtenBefore date: HTTPDate
    ) throws(DownloadError) -> RemovedLeftovers {
        var removed = RemovedLeftovers()
        do {
            try searchHiddenFiles(in: directory, includingSubdirectories: includingSubdirectories) { files in
                for location in files.locations {
                    removed += LeftoverRemoval(disk: disk, location: location, limit: date.secondsSinceEpoch).run()
                }
            }
        } catch let error where error.kind == .missing {
            return removed
        } catch {
            throw DownloadError(error)
        }
        return removed
    }
}

/// A removal of the files of one location that no checkpoint names.
private struct LeftoverRemoval {
    let disk: any FileSystem
    let location: HiddenFiles.Location
    /// The time from which written files are kept, in seconds since 1970.
    let limit: Int64

    private var names: PartialNames { location.names }

    func run() -> RemovedLeftovers {
        let owner = FileOwner(disk: disk, names: names)
        let isAnyOld = location.files.contains { isOld($0.name, owner) != nil }
        // A running owner has the lock or, where locks do not work, recently written files.
        guard isAnyOld, let lock = try? PartialLock.acquire(names, on: disk) else { return RemovedLeftovers() }
        var removed = RemovedLeftovers()
        var isEmpty = lock.isNew
        defer { lock.release(removing: isEmpty) }
        guard lock.isHeld else { return removed }
        guard let kept = try? kept(owner) else { return removed }
        isEmpty = true
        for (name, parts) in location.files where parts.kind != .lock {
            if kept.contains(name, parts.kind) {
                isEmpty = false
                continue
            }
            let path = PartialNames.join(names.directory, name)
            guard let information = isOld(name, owner), (try? disk.remove(path)) != nil else {
                isEmpty = false
                continue
            }
            removed += RemovedLeftovers(fileCount: 1, byteCount: information.size)
        }
        if isEmpty, !lock.isNew { removed += RemovedLeftovers(fileCount: 1, byteCount: 0) }
        return removed
    }

    /// Returns information about the file if it belongs to this user and was last written before the limit.
    private func isOld(_ name: String, _ owner: FileOwner) -> FileInformation? {
        guard let information = try? disk.information(at: PartialNames.join(names.directory, name)),
            information.kind == .regular, information.modificationSeconds < limit,
            (try? owner.isOwn(information)) == true
        else { return nil }
        return information
    }

    /// The files that are kept regardless of their age.
    private enum Kept {
        case nothing
        /// The checkpoint with this name, and the partial file with this token, are kept.
        case unfinished(checkpoint: String, token: String)
        /// All files are kept, because the checkpoint has another format.
        case everything

        func contains(_ name: String, _ kind: HiddenName.Kind) -> Bool {
            switch (self, kind) {
            case (.nothing, _): false
            case (.everything, _): true
            case (.unfinished(_, let token), .file(let claim, .partial)): claim.token == token
            case (.unfinished(let checkpoint, _), _): name.hasSameBytes(as: checkpoint)
            }
        }
    }

    /// Determines the files that the location's checkpoint names.
    ///
    /// The directory was listed before the lock was acquired. It is listed again only if the expected files aren't
    /// found, because another owner may have renamed files since.
    private func kept(_ owner: FileOwner) throws(FileFailure) -> Kept {
        let list = { () throws(FileFailure) in try disk.names(in: names.directory) }
        let listed = location.files.map(\.name)
        let found: CheckpointFile?
        switch try CheckpointFile.read(names.checkpoint, on: disk, ownedBy: owner) {
        case .success(let usual)?: found = usual
        case .failure(.otherVersion)?: return .everything
        case .failure(.corrupt)?: found = try CheckpointFile.readDisplaced(among: list(), ownedBy: owner)
        case nil: found = try CheckpointFile.readDisplaced(among: listed, ownedBy: owner)
        }
        guard let found else { return .nothing }
        defer { disk.close(found.handle) }
        var file = try found.openPartial(ownedBy: owner) { listed }
        if file == nil { file = try found.openPartial(ownedBy: owner, listing: list) }
        guard let file else { return .nothing }
        disk.close(file.handle)
        return .unfinished(
            checkpoint: PartialNames.lastComponent(of: found.path), token: found.checkpoint.token)
    }
}
