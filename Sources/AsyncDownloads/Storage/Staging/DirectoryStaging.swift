/// The steps by which a new version of a directory replaces the old one.
///
/// The new version is prepared in a hidden directory next to the old one, the staged directory. At the start, each file
/// of the old version gets a second name there (a hard link), so that names are chosen, and existing files are found, as in the
/// old version. Then files are added and replaced. Finally, both directories exchange their names, and the old version
/// is removed. If other programs change the old version in the meantime, the changes are repeated in the new version:
/// before the exchange and, for those that were made while that was done, after it.
///
/// At every time, the destination doesn't exist, or is the old version, or is the new version; on a volume that can't
/// exchange two directories, it doesn't exist for a moment.
///
/// Every function may block on the disk. ``open()`` is called first, and its result is passed to the others.
struct DirectoryStaging: Sendable {
    /// What the owner of a staged directory needs until the end.
    struct Ownership: Sendable {
        let lock: PartialLock
        fileprivate let links: Links
    }

    /// The files that have a name in both versions: their inodes by the hash values of their paths.
    fileprivate struct Links {
        private var inodes: [Int: UInt64] = [:]

        mutating func insert(_ file: FileInformation, at path: String) { inodes[ByteText(path).hashValue] = file.inode }

        /// Whether the file in the staged directory is the one that the old version had at the path.
        func contain(_ file: FileInformation, at path: String) -> Bool {
            inodes[ByteText(path).hashValue] == file.inode
        }
    }

    private let store: PartialStore
    let names: StagedNames

    init(_ destination: String, store: PartialStore) {
        self.store = store
        names = StagedNames(destination: destination, user: store.disk.user)
    }

    private var disk: any FileSystem { store.disk }

    /// Acquires the lock, ends what an interrupted process has begun, and creates the staged directory, or continues
    /// with the one that an earlier owner has left.
    ///
    /// - Throws: ``FileFailure/Kind/inUse`` while another owner has the lock.
    func open() throws(FileFailure) -> Ownership {
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
            return Ownership(lock: lock, links: try prepare())
        } catch {
            lock.release(removing: true)
            throw error
        }
    }

    /// Replaces the destination with the staged directory.
    ///
    /// - Throws: The failure before the exchange, or that of making the exchange durable.
    func publish(_ ownership: Ownership) throws(FileFailure) {
        try checkDestination()
        var links = ownership.links
        if exists(names.destination) {
            try link("", &links) { path, staged in ownership.links.contain(staged, at: path) }
        }
        // What was removed from the old version doesn't appear again.
        try removeFiles("", andDirectories: false) { path, staged in
            links.contain(staged, at: path) && !exists(PartialNames.join(names.destination, path))
        }
        if store.synchronizes { try synchronize("") }
        let old = try exchange()
        let durability = Result { () throws(FileFailure) in
            if store.synchronizes { try store.synchronizeDirectoryRetrying(names.parent) }
        }
        // A failure leaves work for the next owner.
        if let old { try? retire(old, links) }
        removeMarker()
        try durability.get()
    }

    /// Removes the names that the files of the old version have in the staged directory, and everything if no other file
    /// is left.
    func close(_ ownership: Ownership) throws(FileFailure) {
        try removeFiles("") { path, staged in ownership.links.contain(staged, at: path) }
        if try disk.names(in: names.staged) == [names.marker] { try discard() }
    }

    /// Removes the staged directory with all its files.
    func discard() throws(FileFailure) {
        try removeFiles("") { _, _ in true }
        // The directory without the marker would be taken for an old version, so it has to be empty by then.
        try disk.remove(PartialNames.join(names.staged, names.marker))
        try disk.removeDirectory(names.staged)
    }
}

// MARK: - The staged directory

extension DirectoryStaging {
    private func exists(_ path: String) -> Bool { (try? disk.information(at: path)) ?? nil != nil }

    /// Throws unless the destination is a directory that can be renamed, or doesn't exist.
    private func checkDestination() throws(FileFailure) {
        guard let present = try disk.information(at: names.destination) else { return }
        guard present.kind == .directory else { throw unusable(names.destination, "it isn't a directory") }
        let parent = try disk.information(at: names.parent)
        guard present.device == parent?.device, parent?.isSameFile(as: present) == false else {
            throw unusable(names.destination, "it is the root of a volume")
        }
    }

    private func unusable(_ path: String, _ reason: String) -> FileFailure {
        FileFailure(
            .unusablePath, errno: 0, operation: "replace", name: PartialNames.lastComponent(of: path), reason: reason)
    }

    /// Creates the staged directory, and links the files of the old version.
    private func prepare() throws(FileFailure) -> Links {
        let isNew = !exists(names.staged)
        if isNew { try disk.makeDirectory(names.staged) }
        do throws(FileFailure) {
            let marker = PartialNames.join(names.staged, names.marker)
            if !exists(marker) { disk.close(try disk.open(marker, .new)) }
            var links = Links()
            if exists(names.destination) {
                // A file of an earlier attempt has a record. Without one, it is what the old version has replaced since.
                try link("", &links) { path, _ in
                    store.recordedFile(at: PartialNames.join(names.staged, path))?.isUnchanged != true
                }
            }
            return links
        } catch {
            if isNew { try? discard() }
            throw error
        }
    }

    /// Gives each file in a directory of the old version a name in the staged directory.
    ///
    /// Hidden files of unfinished downloads are omitted, because their owners may be writing them.
    ///
    /// - Parameter isStale: Whether another file in the staged directory, which has the same path, is what the old version
    ///   had there before.
    private func link(
        _ directory: String, _ links: inout Links, where isStale: (String, FileInformation) -> Bool
    ) throws(FileFailure) {
        try disk.copyPermissions(
            of: Self.join(names.destination, directory), to: Self.join(names.staged, directory))
        for (path, object) in try contents(names.destination, directory) {
            let (old, new) = (PartialNames.join(names.destination, path), PartialNames.join(names.staged, path))
            let staged = try disk.information(at: new)
            if let staged, (staged.kind == .directory) != (object.kind == .directory) {
                throw unusable(new, "it is a directory in one version, and a file in the other")
            }
            if object.kind == .directory {
                if staged == nil { try disk.makeDirectory(new) }
                try link(path, &links, where: isStale)
            } else if HiddenName(PartialNames.lastComponent(of: path)) == nil {
                if let staged, !staged.isSameFile(as: object) {
                    guard isStale(path, staged) else { continue }
                    try disk.remove(new)
                }
                if staged?.isSameFile(as: object) != true { try disk.link(old, as: new) }
                links.insert(object, at: path)
            }
        }
    }

    /// Returns the path and the kind of each object in a directory of a version, except for the marker.
    private func contents(
        _ version: String, _ directory: String
    ) throws(FileFailure) -> [(path: String, object: FileInformation)] {
        var contents: [(path: String, object: FileInformation)] = []
        for name in try disk.names(in: Self.join(version, directory)) {
            let path = directory.isEmpty ? name : PartialNames.join(directory, name)
            guard path != names.marker, let object = try disk.information(at: PartialNames.join(version, path)) else {
                continue
            }
            contents.append((path, object))
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

// MARK: - The exchange

extension DirectoryStaging {
    /// Gives the staged directory the name of the destination.
    ///
    /// - Returns: The path of the old version; nil if there was none.
    private func exchange() throws(FileFailure) -> String? {
        guard exists(names.destination) else {
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
    private func recover() throws(FileFailure) {
        if exists(names.replaced) {
            if exists(names.destination) {
                try retire(names.replaced, Links())
            } else {
                try disk.rename(names.replaced, to: names.destination)
            }
        }
        guard exists(names.destination) else { return }
        if exists(names.staged), !exists(PartialNames.join(names.staged, names.marker)) {
            try retire(names.staged, Links())
        }
        removeMarker()
    }

    /// Removes the mark of the new version from the destination.
    private func removeMarker() { try? disk.remove(PartialNames.join(names.destination, names.marker)) }

    /// Removes the old version, after what other programs have created in it during the exchange was moved to the
    /// destination.
    ///
    /// - Parameter links: The files that both versions contain; without them, a file that was replaced during the exchange
    ///   can't be distinguished from one that the new version replaces, and is removed.
    private func retire(_ old: String, _ links: Links) throws(FileFailure) {
        try retire("", of: old, links)
        try disk.removeDirectory(old)
    }

    private func retire(_ directory: String, of old: String, _ links: Links) throws(FileFailure) {
        for (path, object) in try contents(old, directory) {
            let (source, target) = (PartialNames.join(old, path), PartialNames.join(names.destination, path))
            guard let present = try disk.information(at: target) else {
                try disk.rename(source, to: target)
                continue
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
            case (true, false), (false, true):
                // Another program has created the object during the exchange; its directory is kept.
                break
            }
        }
    }
}
