/// The steps by which a new version of a directory replaces the old one.
///
/// The new version is prepared in a hidden directory next to the old one, the staged directory. At the start, each file
/// of the old version gets a second name there (a hard link), so that names are chosen, and existing files are found, as
/// in the old version. Then files are added and replaced. Finally, both directories exchange their names, and the old version
/// is removed. If other programs change the old version in the meantime, the changes are repeated in the new version:
/// before the exchange and, for those that were made while that was done, after it.
///
/// The destination is always either absent, the old version, or the new version. On a volume that can't exchange two
/// directories, it is absent for a moment.
///
/// Every function may block on the disk. ``open()`` is called first, and its lock is held for the others.
struct DirectoryStaging: Sendable {
    private let store: PartialStore
    let names: StagedNames

    init(_ destination: String, store: PartialStore) {
        self.store = store
        names = StagedNames(destination: destination, user: store.disk.user)
    }

    var disk: any FileSystem { store.disk }

    /// Acquires the lock, completes or undoes an interrupted publication, and creates the staged directory or reuses the
    /// existing one.
    ///
    /// - Throws: ``FileFailure/Kind/inUse`` while another owner has the lock.
    func open() throws(FileFailure) -> PartialLock {
        try store.makeDirectory(names.parent)
        try checkDestination()
        let lock = try PartialLock.acquire(names.lock, on: disk)
        do throws(FileFailure) {
            guard lock.isHeld else {
                throw FileFailure(
                    .denied, errno: 0, operation: "lock", name: PartialNames.lastComponent(of: names.lock.lock),
                    reason: "the name belongs to another user's object")
            }
            try recover()
            try prepare()
            return lock
        } catch {
            lock.release(removing: true)
            throw error
        }
    }

    /// Replaces the destination with the staged directory.
    ///
    /// - Returns: The failure of making the exchange durable, if it failed.
    /// - Throws: The failure before the exchange.
    func publish() throws(FileFailure) -> FileFailure? {
        try checkDestination()
        let earlier = markedLinks(of: names.staged)
        let links = try presentLinks()
        // What was removed from the old version, or replaced there, doesn't appear again.
        try removeFiles("", andDirectories: false) { path, staged in
            earlier.contain(staged, at: path) && !links.contain(staged, at: path)
        }
        try write(links)
        if try exists(names.destination) { try link("") }
        if store.synchronizes { try synchronize("") }
        let old = try exchange()
        var failure: FileFailure?
        do throws(FileFailure) {
            if store.synchronizes { try store.synchronizeDirectoryRetrying(names.parent) }
        } catch {
            failure = error
        }
        do throws(FileFailure) {
            if let old { try retire(old, links) }
            removeMarker()
        } catch {
            // The next owner removes the rest, with the links in the marker.
        }
        return failure
    }

    /// Removes the hard links to files of the old version from the staged directory, and the directory if nothing else is
    /// left in it.
    func close() throws(FileFailure) {
        let links = markedLinks(of: names.staged)
        try removeFiles("") { path, staged in links.contain(staged, at: path) }
        if try disk.names(in: names.staged) == [names.marker] { try discard() }
    }

    /// Removes the staged directory with all its files.
    func discard() throws(FileFailure) {
        try removeFiles("") { _, _ in true }
        try disk.remove(PartialNames.join(names.staged, names.newMarker))
        // The directory without the marker would be taken for an old version, so it has to be empty by then.
        try disk.remove(PartialNames.join(names.staged, names.marker))
        try disk.removeDirectory(names.staged)
    }
}

// MARK: - The staged directory

extension DirectoryStaging {
    func exists(_ path: String) throws(FileFailure) -> Bool { try disk.information(at: path) != nil }

    /// Throws unless the destination is a directory that can be renamed, or doesn't exist.
    private func checkDestination() throws(FileFailure) {
        guard let present = try disk.information(at: names.destination) else { return }
        guard present.kind == .directory else { throw unusable(names.destination, "it isn't a directory") }
        let parent = try disk.information(at: names.parent)
        guard present.device == parent?.device, parent?.isSameFile(as: present) == false else {
            throw unusable(names.destination, "it is the root of a volume")
        }
    }

    func unusable(_ path: String, _ reason: String) -> FileFailure {
        FileFailure(
            .unusablePath, errno: 0, operation: "replace", name: PartialNames.lastComponent(of: path), reason: reason)
    }

    /// Creates the staged directory, or updates an existing one to the current contents of the old version, and links the
    /// old version's files.
    private func prepare() throws(FileFailure) {
        let isNew = try !exists(names.staged)
        if isNew { try disk.makeDirectory(names.staged) }
        do throws(FileFailure) {
            let earlier = markedLinks(of: names.staged)
            let links = try presentLinks()
            try removeFiles("") { path, staged in
                earlier.contain(staged, at: path)
                    ? !links.contain(staged, at: path) : !links.hasSameFile(as: earlier, at: path)
            }
            try write(links)
            if try exists(names.destination) { try link("", replacesOthers: true) }
        } catch {
            if isNew { try? discard() }
            throw error
        }
    }

    /// Returns the links that the marker in a version records.
    func markedLinks(of version: String) -> StagedLinks {
        StagedLinks(at: PartialNames.join(version, names.marker), on: disk)
    }

    /// Returns the files of the old version.
    private func presentLinks() throws(FileFailure) -> StagedLinks {
        var links = StagedLinks()
        if try exists(names.destination) { try find("", &links) }
        return links
    }

    private func find(_ directory: String, _ links: inout StagedLinks) throws(FileFailure) {
        for (path, object) in try contents(names.destination, directory) {
            if object.kind == .directory {
                guard disk.user == 0 || object.permissions & 0o700 == 0o700 else {
                    throw FileFailure(
                        .denied, errno: 0, operation: "replace", name: PartialNames.lastComponent(of: path),
                        reason: "the directory isn't writable")
                }
                try unlessRemoved { () throws(FileFailure) in try find(path, &links) }
            } else if HiddenName(PartialNames.lastComponent(of: path)) == nil {
                links.insert(object, at: path)
            }
        }
    }

    /// Records the links in the marker, before they are created.
    ///
    /// A link that the marker doesn't record after a power loss would be taken for a downloaded file.
    private func write(_ links: StagedLinks) throws(FileFailure) {
        let temporary = PartialNames.join(names.staged, names.newMarker)
        try disk.remove(temporary)
        let file = try disk.open(temporary, .new)
        do throws(FileFailure) {
            try links.write(to: file, on: disk)
            if store.synchronizes { try disk.synchronize(file) }
            disk.close(file)
        } catch {
            disk.close(file)
            throw error
        }
        try disk.rename(temporary, to: PartialNames.join(names.staged, names.marker))
        if store.synchronizes { try store.synchronizeDirectoryRetrying(names.staged) }
    }

    /// Gives each file in a directory of the old version a name in the staged directory, unless another file has it.
    ///
    /// Hidden files of unfinished downloads are omitted, because their owners may be writing them.
    ///
    /// - Parameter replacesOthers: Whether a file is replaced where the old version has a directory, and a directory
    ///   where it has a file.
    private func link(_ directory: String, replacesOthers: Bool = false) throws(FileFailure) {
        // The directory is restricted before it contains files, so that they are never accessible to others.
        try disk.copyPermissions(
            of: Self.join(names.destination, directory), to: Self.join(names.staged, directory))
        for (path, object) in try contents(names.destination, directory) {
            try unlessRemoved { () throws(FileFailure) in
                try link(path, object, replacesOthers: replacesOthers)
            }
        }
    }

    private func link(_ path: String, _ object: FileInformation, replacesOthers: Bool) throws(FileFailure) {
        let new = PartialNames.join(names.staged, path)
        var staged = try disk.information(at: new)
        if let present = staged, (present.kind == .directory) != (object.kind == .directory) {
            guard replacesOthers else {
                throw unusable(new, "it is a directory in one version, and a file in the other")
            }
            if present.kind == .directory {
                try removeFiles(path) { _, _ in true }
                try disk.removeDirectory(new)
            } else {
                try disk.remove(new)
            }
            staged = nil
        }
        if object.kind == .directory {
            if staged == nil { try disk.makeDirectory(new) }
            try link(path, replacesOthers: replacesOthers)
        } else if staged == nil, HiddenName(PartialNames.lastComponent(of: path)) == nil {
            try disk.link(PartialNames.join(names.destination, path), as: new)
        }
    }

    /// Ignores that another program has removed an object of the old version.
    private func unlessRemoved(_ body: () throws(FileFailure) -> Void) throws(FileFailure) {
        do throws(FileFailure) {
            try body()
        } catch let error where error.kind == .missing {}
    }

    /// Returns the path and the kind of each object in a directory of a version, except for the markers.
    func contents(
        _ version: String, _ directory: String
    ) throws(FileFailure) -> [(path: String, object: FileInformation)] {
        var contents: [(path: String, object: FileInformation)] = []
        for name in try disk.names(in: Self.join(version, directory)) {
            let path = directory.isEmpty ? name : PartialNames.join(directory, name)
            guard path != names.marker, path != names.newMarker else { continue }
            if let object = try disk.information(at: PartialNames.join(version, path)) {
                contents.append((path, object))
            } else if name.unicodeScalars.contains("\u{FFFD}") {
                // The name contains other bytes, which were replaced when it was read.
                throw unusable(path, "its name isn't UTF-8")
            }
        }
        return contents
    }

    /// Returns the path of a directory of a version; the empty path is the version itself.
    private static func join(_ version: String, _ directory: String) -> String {
        directory.isEmpty ? version : PartialNames.join(version, directory)
    }

    /// Removes files from a directory of the staged directory.
    ///
    /// - Parameter removesDirectories: Whether directories are removed that are empty then.
    private func removeFiles(
        _ directory: String, andDirectories removesDirectories: Bool = true,
        where isRemoved: (String, FileInformation) -> Bool
    ) throws(FileFailure) {
        for (path, object) in try contents(names.staged, directory) {
            let full = PartialNames.join(names.staged, path)
            if object.kind == .directory {
                try removeFiles(path, andDirectories: removesDirectories, where: isRemoved)
                if removesDirectories, try disk.names(in: full).isEmpty { try disk.removeDirectory(full) }
            } else if isRemoved(path, object) {
                try disk.remove(full)
            }
        }
    }

    private func synchronize(_ directory: String) throws(FileFailure) {
        for (path, object) in try contents(names.staged, directory) where object.kind == .directory {
            try synchronize(path)
        }
        try store.synchronizeDirectoryRetrying(Self.join(names.staged, directory))
    }
}
