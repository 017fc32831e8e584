/// Puts one finished file at its destinations.
struct Placement {
    let store: DiskStore
    let names: PartialNames
    let file: PartialFile

    /// How it went: the path, or the failure, of each target so far.
    private(set) var results: [Result<String, FileFailure>] = []
    /// Whether a target has the file itself, so that it is not at its own name any more.
    private(set) var isTaken = false
    /// The name that an earlier process was about to give to this file when it ended.
    var interruptedName: String?
    /// Called with the name that the file is about to get, where it had to be chosen.
    var willTakeName: (String) -> Void = { _ in }
    /// The directories of the targets, in the order of ``results``.
    private var directories: [String] = []

    /// - Parameter isTaken: Whether the file is at a target already.
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

    /// Puts the file itself at the target or, where that is gone, a copy.
    mutating func put(at target: PlacementTarget) {
        let directory =
            switch target.place {
            case .path(let path, _): PartialNames.directory(of: path)
            case .directory(let path, _, _, _): path
            }
        directories.append(directory)
        do {
            try checkWay(to: target)
            if try disk.information(at: directory) == nil { try store.makeDirectory(directory) }
            results.append(.success(try put(in: directory, target)))
        } catch {
            results.append(.failure(error))
        }
    }

    private mutating func put(in directory: String, _ target: PlacementTarget) throws(FileFailure) -> String {
        guard !isTaken else { return try putCopy(in: directory, target) }
        do {
            return try put(ownPath, in: directory, target)
        } catch let error where error.kind == .crossDevice {
            return try putCopy(in: directory, target)
        }
    }

    private mutating func putCopy(in directory: String, _ target: PlacementTarget) throws(FileFailure) -> String {
        let copy = try makeCopy(in: directory)
        do {
            return try put(copy, in: directory, target)
        } catch {
            try? disk.remove(copy)
            throw error
        }
    }

    /// Gives what is at `source` the name that the target asks for.
    private mutating func put(
        _ source: String, in directory: String, _ target: PlacementTarget
    ) throws(FileFailure) -> String {
        switch target.place {
        case .directory(_, let name, let isCallers, _):
            return try put(source, in: directory, name: name, isCallers: isCallers, for: target)
        case .path(let path, _):
            let name = PartialNames.lastComponent(of: path)
            return try target.names.withTurn(name, in: directory) { () throws(FileFailure) in
                try checkSpelling(of: path, target)
                // Again, since the way may have been changed while the bytes were synced.
                try checkWay(to: target)
                try replace(path, by: source)
                target.names.give(path, to: target.resource)
                return path
            }
        }
    }

    /// Refuses a path that is the same as another one of this process's files on a volume that folds names.
    private func checkSpelling(of path: String, _ target: PlacementTarget) throws(FileFailure) {
        guard let present = try disk.information(at: path) else { return }
        for other in target.names.others(than: target.resource, at: path) where !other.hasSameBytes(as: path) {
            guard try disk.information(at: other)?.isSameFile(as: present) == true else { continue }
            throw FileFailure(
                .unusablePath, errno: 0, operation: "replace", name: PartialNames.lastComponent(of: path),
                reason: "the volume takes it for \(PartialNames.lastComponent(of: other)), which is another download")
        }
    }

    /// Refuses a way to the target that leaves the directory which it must not leave.
    func checkWay(to target: PlacementTarget) throws(FileFailure) {
        let (path, top): (String, String)
        switch target.place {
        case .path(let file, let directory?): (path, top) = (PartialNames.directory(of: file), directory)
        case .directory(let directory, _, _, let other?): (path, top) = (directory, other)
        case .path, .directory: return
        }
        var way = top
        for component in path.utf8.dropFirst(top.utf8.count).split(separator: UInt8(ascii: "/")) {
            way = PartialNames.join(way, String(decoding: component, as: UTF8.self))
            guard let information = try disk.information(at: way) else { return }
            guard information.kind == .directory else {
                throw FileFailure(
                    .unusablePath, errno: 0, operation: "place below",
                    name: String(decoding: component, as: UTF8.self), reason: "it is no directory")
            }
        }
    }

    /// Replaces what is at `path`, atomically.
    mutating func replace(_ path: String, by source: String) throws(FileFailure) {
        try disk.checkReplaceable(path)
        do {
            try disk.rename(source, to: path)
        } catch let error where error.kind == .missing {
            // Either name may be the one that leads nowhere.
            if source == ownPath { try file.checkOwnership(names, on: disk) }
            throw error
        }
        noteTaken(source)
    }

    /// What was at `source` has its name now.
    mutating func noteTaken(_ source: String) {
        if source == ownPath { isTaken = true }
    }

    /// The name that the partial file has.
    var ownPath: String { names.path(file.claim, .partial) }

    var disk: any FileSystem { store.disk }

    /// Makes the new names durable in the directories that the partial itself is not in; false where one failed.
    mutating func synchronizeOtherDirectories() -> Bool {
        Set(directories).subtracting([names.directory]).reduce(true) { synchronize($1) && $0 }
    }

    /// Makes the changes in the partial's own directory durable, if it is a destination's or `hasChanged` besides.
    mutating func synchronizeOwnDirectory(hasChanged: Bool = false) {
        if hasChanged || directories.contains(names.directory) { synchronize(names.directory) }
    }

    /// A failure is one of each destination there: its new name may be lost (rule 45).
    @discardableResult
    private mutating func synchronize(_ directory: String) -> Bool {
        let served = results.indices.filter { index in
            if case .success = results[index] { directories[index] == directory } else { false }
        }
        guard store.synchronizes(file), !served.isEmpty || directory == names.directory else { return true }
        do {
            try store.synchronizeDirectoryRetrying(directory)
            return true
        } catch {
            for index in served { results[index] = .failure(error) }
            return false
        }
    }

    /// Makes a synced copy in the directory; the answer is its path.
    private func makeCopy(in directory: String) throws(FileFailure) -> String {
        removeCopies(in: directory)
        let path = names.path(file.claim, .copy, in: directory)
        let copy = try disk.duplicate(file.handle, to: path)
        defer { disk.close(copy) }
        do {
            // Not every file system has modes.
            try? disk.setPermissions(.ordinary, of: copy)
            if store.synchronizes(file) { try disk.synchronize(copy) } else { try disk.checkWrites(to: copy) }
            return path
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
