/// Puts one finished file at its destinations.
struct Placement {
    let store: DiskStore
    let names: PartialNames
    let file: PartialFile

    /// How it went, one result for each destination so far.
    private(set) var results: [Result<Void, FileFailure>] = []
    /// Whether a destination has the file itself, so that it is not at its own name any more.
    private(set) var isTaken = false
    /// The directories of the destinations, in the order of ``results``.
    private var directories: [String] = []

    /// - Parameter isTaken: Whether the file is at a destination already.
    init(store: DiskStore, names: PartialNames, file: PartialFile, isTaken: Bool = false) {
        self.isTaken = isTaken
        self.store = store
        self.names = names
        self.file = file
    }

    /// Whether the partial is not needed any more.
    var isFinished: Bool {
        isTaken || (!results.isEmpty && results.allSatisfy { if case .success = $0 { true } else { false } })
    }

    /// Replaces what is at `destination`, atomically: by the file itself or, where that is gone, by a copy.
    mutating func put(at destination: String) {
        let directory = PartialNames.directory(of: destination)
        directories.append(directory)
        do {
            if try disk.information(at: directory) == nil { try store.makeDirectory(directory) }
            try disk.checkReplaceable(destination)
            if isTaken {
                try copy(to: destination)
            } else {
                try take(to: destination)
            }
            results.append(.success(()))
        } catch {
            results.append(.failure(error))
        }
    }

    /// Makes the new names durable in the directories that the partial itself is not in; false where one failed.
    mutating func synchronizeOtherDirectories() -> Bool {
        Set(directories).subtracting([names.directory]).reduce(true) { synchronize($1) && $0 }
    }

    /// Makes the changes in the partial's own directory durable, if it is a destination's or `hasChanged` besides.
    mutating func synchronizeOwnDirectory(hasChanged: Bool = false) {
        if hasChanged || directories.contains(names.directory) { synchronize(names.directory) }
    }

    private var disk: any FileSystem { store.disk }

    /// A failure is one of each destination there: its new name may be lost (rule 45).
    @discardableResult
    private mutating func synchronize(_ directory: String) -> Bool {
        let served = results.indices.filter { index in
            if case .success = results[index] { directories[index] == directory } else { false }
        }
        guard store.synchronizes, !served.isEmpty || directory == names.directory else { return true }
        do {
            try store.synchronizeForGood(directory)
            return true
        } catch {
            for index in served { results[index] = .failure(error) }
            return false
        }
    }

    private mutating func take(to destination: String) throws(FileFailure) {
        do {
            try disk.rename(names.path(file.claim, .partial), to: destination)
            isTaken = true
        } catch let error where error.kind == .crossDevice {
            try copy(to: destination)
        } catch let error where error.kind == .missing {
            // Either name may be the one that leads nowhere.
            try file.checkOwnership(names, on: disk)
            throw error
        }
    }

    private func copy(to destination: String) throws(FileFailure) {
        let directory = PartialNames.directory(of: destination)
        removeCopies(in: directory)
        let path = names.path(file.claim, .copy, in: directory)
        let copy = try disk.duplicate(file.handle, to: path)
        defer { disk.close(copy) }
        do {
            if store.synchronizes { try disk.synchronize(copy) } else { try disk.checkWrites(to: copy) }
            try disk.rename(path, to: destination)
        } catch {
            try? disk.remove(path)
            throw error
        }
    }

    /// Removes a copy of this very file that an earlier process did not finish.
    private func removeCopies(in directory: String) {
        guard let found = try? disk.names(in: directory) else { return }
        for name in found where names.isCopy(name, of: file.claim.token) {
            try? disk.remove(PartialNames.join(directory, name))
        }
    }
}

extension FileSystem {
    /// Refuses what a rename would replace although it is no file; a symbolic link is replaced itself.
    func checkReplaceable(_ destination: String) throws(FileFailure) {
        switch try information(at: destination)?.kind {
        case nil, .regular, .symbolicLink: break
        case .directory, .other:
            throw FileFailure(
                .unusablePath, errno: 0, operation: "replace", name: PartialNames.lastComponent(of: destination),
                reason: "it is there and no file")
        }
    }
}
