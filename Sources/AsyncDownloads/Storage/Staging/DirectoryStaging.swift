/// The steps by which a new version of a directory replaces the old one.
///
/// At every time, the destination doesn't exist, or is the old version, or is the new version; on a volume that can't
/// exchange two directories, it doesn't exist for a moment. Nothing of the old version is lost: what the new version
/// doesn't contain gets a second name in it, before the exchange and, if it was created in the meantime, after it.
///
/// Every function may block on the disk. ``open()`` is called first, and its lock is held for the other functions.
struct DirectoryStaging: Sendable {
    private let store: PartialStore
    let names: StagedNames

    init(_ destination: String, store: PartialStore) {
        self.store = store
        names = StagedNames(destination: destination, user: store.disk.user)
    }

    private var disk: any FileSystem { store.disk }

    /// Acquires the lock, completes what an interrupted process has begun, and creates the staged directory.
    ///
    /// - Throws: ``FileFailure/Kind/inUse`` while another owner has the lock.
    func open() throws(FileFailure) -> PartialLock {
        try store.makeDirectory(names.parent)
        try checkDestination()
        let lock = try PartialLock.acquire(names.lock, on: disk)
        do throws(FileFailure) {
            try recover()
            try prepare()
        } catch {
            lock.release(removing: true)
            throw error
        }
        return lock
    }

    /// Gives the file that the old version has at this path a second name in the new version, unless one exists there.
    ///
    /// A file that can't have a second name is omitted, so that it is fetched again.
    func reuse(_ path: String) {
        let (old, new) = (PartialNames.join(names.destination, path), PartialNames.join(names.staged, path))
        guard (try? makeParents(of: path)) != nil, let file = try? disk.information(at: old), file.kind == .regular,
            !exists(new)
        else { return }
        try? disk.link(old, as: new)
    }

    /// Replaces the destination with the staged directory.
    ///
    /// - Parameter isAdded: Whether a path belongs to the new version; other files in the staged directory are removed.
    func publish(_ isAdded: (String) -> Bool) throws(FileFailure) {
        try checkDestination()
        try removeFiles(in: "") { !isAdded($0) }
        try carryOver("")
        if store.synchronizes { try synchronize("") }
        let old = try exchange()
        if store.synchronizes { try store.synchronizeDirectoryRetrying(names.parent) }
        // The new version is published; a failure leaves work for the next process.
        guard let old else { return removeMarker() }
        try? retire(old, isAdded)
        removeMarker()
    }

    /// Removes the staged directory if it contains no files.
    func removeIfEmpty() throws(FileFailure) {
        guard try disk.names(in: names.staged) == [names.marker] else { return }
        try discard()
    }

    /// Removes the staged directory with all its files.
    func discard() throws(FileFailure) {
        try? disk.remove(PartialNames.join(names.staged, names.marker))
        try removeFiles(in: "") { _ in true }
        try disk.removeDirectory(names.staged)
    }
}

extension DirectoryStaging {
    private func exists(_ path: String) -> Bool { (try? disk.information(at: path)) ?? nil != nil }

    /// Throws unless the destination is a directory that can be renamed, or doesn't exist.
    private func checkDestination() throws(FileFailure) {
        guard let present = try disk.information(at: names.destination) else { return }
        let parent = try disk.information(at: names.parent)
        guard present.kind != .directory || present.device != parent?.device || parent?.isSameFile(as: present) == true
        else { return }
        throw unusable(
            names.destination, present.kind == .directory ? "it is the root of a volume" : "it isn't a directory")
    }

    private func unusable(_ path: String, _ reason: String) -> FileFailure {
        FileFailure(
            .unusablePath, errno: 0, operation: "replace", name: PartialNames.lastComponent(of: path), reason: reason)
    }

    /// Completes the publication that an earlier process had begun.
    private func recover() throws(FileFailure) {
        if exists(names.replaced) {
            if exists(names.destination) {
                try retire(names.replaced) { _ in true }
            } else {
                try disk.rename(names.replaced, toUnused: names.destination)
            }
        }
        guard exists(names.destination) else { return }
        if exists(names.staged), !exists(PartialNames.join(names.staged, names.marker)) {
            try retire(names.staged) { _ in true }
        }
        removeMarker()
    }

    /// Removes the mark of the new version from the destination.
    private func removeMarker() { try? disk.remove(PartialNames.join(names.destination, names.marker)) }

    private func prepare() throws(FileFailure) {
        if exists(names.destination) {
            try makeDirectory("")
        } else if !exists(names.staged) {
            try disk.makeDirectory(names.staged)
        }
        let marker = PartialNames.join(names.staged, names.marker)
        if !exists(marker) { disk.close(try disk.open(marker, .new)) }
        if store.synchronizes {
            try disk.synchronizeDirectory(names.staged)
            try disk.synchronizeDirectory(names.parent)
        }
    }

    /// Creates the directories above a path in the staged directory, with the permissions of the old version's.
    private func makeParents(of path: String) throws(FileFailure) {
        let directory = PartialNames.directory(of: path)
        guard directory != "." else { return }
        try makeParents(of: directory)
        try makeDirectory(directory)
    }

    /// Creates a directory of the old version in the staged directory, with the same permissions.
    private func makeDirectory(_ path: String) throws(FileFailure) {
        guard let old = try disk.information(at: Self.join(names.destination, path)), old.kind == .directory else {
            return
        }
        let new = Self.join(names.staged, path)
        let present = try disk.information(at: new)
        guard present == nil || present?.kind == .directory, present?.permissions != old.permissions else { return }
        try disk.makeDirectory(new, permissions: old.permissions)
    }

    /// Returns the path of a directory of a version; the empty path is the version itself.
    private static func join(_ version: String, _ directory: String) -> String {
        directory.isEmpty ? version : PartialNames.join(version, directory)
    }

    /// Calls `body` with the path and the kind of each object in a directory of a version, unless it is the marker.
    private func forEach(
        _ version: String, _ directory: String, _ body: (String, FileInformation) throws(FileFailure) -> Void
    ) throws(FileFailure) {
        for name in try disk.names(in: Self.join(version, directory)) {
            let path = directory.isEmpty ? name : PartialNames.join(directory, name)
            guard path != names.marker, let object = try disk.information(at: PartialNames.join(version, path)) else {
                continue
            }
            try body(path, object)
        }
    }

    /// Removes files from a directory of the staged directory, and directories that are empty then.
    private func removeFiles(in directory: String, where isRemoved: (String) -> Bool) throws(FileFailure) {
        try forEach(names.staged, directory) { (path, object) throws(FileFailure) in
            let full = PartialNames.join(names.staged, path)
            if object.kind == .directory {
                try removeFiles(in: path, where: isRemoved)
                do throws(FileFailure) {
                    try disk.removeDirectory(full)
                } catch let error where error.kind == .exists {}
            } else if isRemoved(path) {
                try disk.remove(full)
            }
        }
    }

    /// Gives everything in a directory of the old version, as far as the new version lacks it, a name there.
    private func carryOver(_ directory: String) throws(FileFailure) {
        guard exists(names.destination) else { return }
        try makeDirectory(directory)
        try forEach(names.destination, directory) { (path, object) throws(FileFailure) in
            let new = PartialNames.join(names.staged, path)
            let present = try disk.information(at: new)
            if let present, (present.kind == .directory) != (object.kind == .directory) {
                throw unusable(new, "only in one of the two versions, it is a directory")
            }
            if object.kind == .directory {
                try carryOver(path)
            } else if present == nil {
                try disk.link(PartialNames.join(names.destination, path), as: new)
            }
        }
    }

    private func synchronize(_ directory: String) throws(FileFailure) {
        try forEach(names.staged, directory) { (path, object) throws(FileFailure) in
            if object.kind == .directory { try synchronize(path) }
        }
        try store.synchronizeDirectoryRetrying(Self.join(names.staged, directory))
    }

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

    /// Removes the old version, after what only it contains was moved to the destination.
    private func retire(_ old: String, _ isAdded: (String) -> Bool) throws(FileFailure) {
        try retire("", of: old, isAdded)
        try disk.removeDirectory(old)
    }

    private func retire(_ directory: String, of old: String, _ isAdded: (String) -> Bool) throws(FileFailure) {
        try forEach(old, directory) { (path, object) throws(FileFailure) in
            let (source, target) = (PartialNames.join(old, path), PartialNames.join(names.destination, path))
            let present = try disk.information(at: target)
            if object.kind == .directory, present?.kind == .directory {
                try retire(path, of: old, isAdded)
                try disk.removeDirectory(source)
            } else if present == nil {
                // The object was created after the old version was searched.
                try disk.rename(source, to: target)
            } else if object.kind != .directory, present?.isSameFile(as: object) == true || isAdded(path) {
                try disk.remove(source)
            } else if object.kind != .directory, present?.kind != .directory {
                // The file was replaced after the old version was searched.
                try disk.rename(source, to: target)
            }
        }
    }
}
