extension PartialStore {
    /// Returns the unfinished partial files in `directory` that have a readable checkpoint, sorted by name.
    ///
    /// A checkpoint may have been forged. A partial file is therefore omitted if its destination is not below
    /// `directory`, or if a symbolic link leads to it.
    ///
    /// - Parameter trustsDestinations: Whether absolute destinations are accepted as well, provided that only this user
    ///   can write to `directory`.
    package func unfinished(
        in directory: String, trustsDestinations: Bool
    ) throws(DownloadError) -> [UnfinishedPartial] {
        let names: [String]
        do {
            names = try disk.names(in: directory).sorted()
        } catch let error where error.kind == .missing {
            return []
        } catch {
            throw DownloadError(error)
        }
        let hidden = names.map { (name: $0, parts: HiddenName($0)) }
        var partials: [String: [(token: String, name: String)]] = [:]
        for (name, parts) in hidden {
            guard let parts, case .file(let claim, .partial) = parts.kind else { continue }
            partials[parts.stem, default: []].append((claim.token, name))
        }
        let trustsAbsolute = trustsDestinations && isPrivate(directory)
        return hidden.compactMap { _, parts in
            guard let parts, parts.kind == .checkpoint,
                let unfinished = unfinished(parts.stem, in: directory, among: partials[parts.stem] ?? [])
            else { return nil }
            let request = unfinished.location.request
            let isAllowed =
                switch RecordedDestination(text: request.destination) {
                case .noFile?: true
                case .below(let components)?:
                    isBelow(directory, request.choosesName ? components[...] : components.dropLast())
                case .absolute?, .inContainer?: trustsAbsolute
                case nil: false
                }
            return isAllowed ? unfinished : nil
        }
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
    package func unfinished(at location: PartialLocation) -> UnfinishedPartial? {
        let names = names(of: location)
        guard let others = try? disk.names(in: names.directory) else { return nil }
        let partials = others.compactMap { name in names.claim(from: name).map { (token: $0.token, name: name) } }
        return unfinished(names.stem, in: names.directory, among: partials)
    }

    /// Reads a checkpoint without owning it; nil if it cannot be read or its bytes no longer exist.
    private func unfinished(
        _ stem: String, in directory: String, among partials: [(token: String, name: String)]
    ) -> UnfinishedPartial? {
        let names = PartialNames(directory: directory, stem: stem)
        let owner = FileOwner(disk: disk, names: names)
        guard let found = try? CheckpointFile.read(names.checkpoint, on: disk, ownedBy: owner),
            case .success(let file) = found
        else { return nil }
        defer { disk.close(file.handle) }
        let record = file.checkpoint
        let location = PartialLocation(directory: directory, baseName: record.baseName, request: record.request)
        guard self.names(of: location).stem == stem,
            let name = partials.first(where: { $0.token == record.token })?.name,
            let handle = try? disk.open(PartialNames.join(directory, name), .existing)
        else { return nil }
        defer { disk.close(handle) }
        guard let information = try? disk.information(of: handle), information.inode == record.inode,
            (try? owner.isPrivate(information)) == true
        else { return nil }
        let session = session(device: information.device, disk.volumeKind(of: handle))
        let mark = file.mark(of: information, session: session)?.mark
        return UnfinishedPartial(
            location: location, representation: record.representation, received: mark?.received ?? file.received,
            fileName: name)
    }
}
