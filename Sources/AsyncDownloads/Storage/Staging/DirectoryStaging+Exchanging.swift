/// The exchange of the two versions, and the removal of the old one.
extension DirectoryStaging {
    /// Gives the staged directory the name of the destination.
    ///
    /// - Returns: The path of the old version; nil if there was none.
    func exchange() throws(FileFailure) -> String? {
        guard try exists(names.destination) else {
            try disk.rename(names.staged, to: names.destination)
            return nil
        }
        do {
            try disk.exchange(names.staged, with: names.destination)
            return names.staged
        } catch let error where error.kind == .unsupported {}
        try disk.rename(names.destination, to: names.replaced)
        do throws(FileFailure) {
            try disk.rename(names.staged, to: names.destination)
        } catch {
            try? disk.rename(names.replaced, to: names.destination)
            throw error
        }
        return names.replaced
    }

    /// Ends the publication that an earlier owner has begun: removes the old version, or gives it its name again.
    func recover() throws(FileFailure) {
        let destination = try disk.information(at: names.destination)
        for path in [names.staged, names.replaced] {
            guard let present = try disk.information(at: path) else { continue }
            // In a directory that all users can write, another user may have created it.
            guard present.kind == .directory, [disk.user, destination?.owner].contains(present.owner) else {
                throw unusable(path, "it isn't a directory of this user")
            }
        }
        if destination == nil, try exists(names.replaced) {
            return try disk.rename(names.replaced, to: names.destination)
        }
        guard destination != nil else { return }
        let links = markedLinks(of: names.destination)
        if try exists(names.replaced) { try retire(names.replaced, links) }
        if try exists(names.staged), try !exists(PartialNames.join(names.staged, names.marker)) {
            try retire(names.staged, links)
        }
        removeMarker()
    }

    /// Removes the mark of the new version from the destination.
    func removeMarker() { try? disk.remove(PartialNames.join(names.destination, names.marker)) }

    /// Removes the old version, after what other programs have created in it during the exchange was moved to the
    /// destination.
    ///
    /// If the new version has an object of another kind at the path, the object gets a numbered name.
    ///
    /// - Parameter links: The files that both versions contained before the exchange.
    func retire(_ old: String, _ links: StagedLinks) throws(FileFailure) {
        try retire("", of: old, links)
        // A process may have ended before its first marker was complete.
        try disk.remove(PartialNames.join(old, names.newMarker))
        try disk.removeDirectory(old)
    }

    private func retire(_ directory: String, of old: String, _ links: StagedLinks) throws(FileFailure) {
        for (path, object) in try contents(old, directory) {
            do throws(FileFailure) {
                try retire(object, at: path, of: old, links)
            } catch let error where error.kind == .exists {
                // Another program has just created an object there.
                try retire(object, at: path, of: old, links)
            }
        }
    }

    private func retire(
        _ object: FileInformation, at path: String, of old: String, _ links: StagedLinks
    ) throws(FileFailure) {
        let (source, target) = (PartialNames.join(old, path), PartialNames.join(names.destination, path))
        guard let present = try disk.information(at: target) else {
            // Another program has removed the file from the new version, or created the object in the old one.
            return links.contain(object, at: path) ? try disk.remove(source) : try move(object, source, to: target)
        }
        switch (object.kind == .directory, present.kind == .directory) {
        case (true, true):
            try retire(path, of: old, links)
            try disk.removeDirectory(source)
        case (false, false):
            if !present.isSameFile(as: object), links.contain(present, at: path) {
                // The file was replaced during the exchange.
                try disk.rename(source, to: target)
            } else {
                try disk.remove(source)
            }
        case (false, true) where links.contain(object, at: path):
            // Another program has replaced the file of the new version by a directory.
            try disk.remove(source)
        case (true, false), (false, true):
            try move(object, source, to: unusedName(for: target))
        }
    }

    /// Moves an object of the old version to an unused path; a directory may replace an empty one.
    private func move(_ object: FileInformation, _ source: String, to target: String) throws(FileFailure) {
        if object.kind == .directory {
            try disk.rename(source, to: target)
        } else {
            try disk.rename(source, toUnused: target)
        }
    }

    private func unusedName(for path: String) throws(FileFailure) -> String {
        var number = 2
        while true {
            let name = FileName.numbered(PartialNames.lastComponent(of: path), number)
            let candidate = PartialNames.join(PartialNames.directory(of: path), name)
            if try !exists(candidate) { return candidate }
            number += 1
        }
    }
}
