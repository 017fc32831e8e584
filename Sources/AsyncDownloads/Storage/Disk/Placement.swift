internal import struct Foundation.URL

/// The placement of one finished file at its destinations.
struct Placement: Sendable {
    let store: PartialStore
    let names: PartialNames
    let file: ClaimedFile
    /// The path of the file before it is placed at a target.
    let ownPath: String

    /// The path or the failure for each target that was processed so far.
    private(set) var results: [Result<String, FileFailure>] = []
    /// Whether the file itself was moved to a target, so that other targets get copies.
    private(set) var isTaken = false
    /// The name that an earlier process was about to give to this file when it ended.
    var interruptedName: String?
    /// A closure that is called with the chosen name before the file gets it.
    var willTakeName: @Sendable (String) -> Void = { _ in }
    /// The directories of the targets, in the order of ``results``.
    private var directories: [ByteText] = []
    /// The access to the URLs of the targets, which is kept until their directories are synced.
    private var accesses: [any AnyObject & Sendable] = []

    /// Creates a placement of a file.
    ///
    /// - Parameters:
    ///   - store: The store of the file.
    ///   - names: The names of the hidden files.
    ///   - file: The file.
    ///   - path: The path of the file; nil for the path of the partial file.
    ///   - isTaken: Whether the file is already at a target.
    init(store: PartialStore, names: PartialNames, file: ClaimedFile, at path: String? = nil, isTaken: Bool = false) {
        self.isTaken = isTaken
        self.store = store
        self.names = names
        self.file = file
        ownPath = path ?? names.path(file.claim, .partial)
    }

    /// Whether the partial file is no longer needed.
    var isFinished: Bool {
        isTaken || (!results.isEmpty && results.allSatisfy { if case .success = $0 { true } else { false } })
    }

    /// Places the file itself at the target, or a copy if another target has the file.
    mutating func put(at target: PlacementTarget) {
        let directory = target.place.directory
        directories.append(ByteText(directory))
        if let access = target.url.flatMap(disk.access) { accesses.append(access) }
        do {
            try checkWay(to: target)
            // The directory of the partial file exists.
            if isTaken || !directory.hasSameBytes(as: names.directory), try isMissing(directory) {
                try store.makeDirectory(directory)
            }
            results.append(.success(try put(in: directory, target)))
        } catch {
            results.append(.failure(error))
        }
    }

    /// Whether the directory doesn't exist; false if this process isn't permitted to find out.
    private func isMissing(_ directory: String) throws(FileFailure) -> Bool {
        do {
            return try disk.information(at: directory) == nil
        } catch let error where error.kind == .denied {
            return false
        }
    }

    private mutating func put(in directory: String, _ target: PlacementTarget) throws(FileFailure) -> String {
        do {
            return try putInPlace(directory, target)
        } catch let error where error.kind == .denied {
            return try putReplacement(in: directory, target, after: error)
        }
    }

    private mutating func putInPlace(_ directory: String, _ target: PlacementTarget) throws(FileFailure) -> String {
        guard !isTaken else { return try putCopy(in: directory, target) }
        do {
            return try put(ownPath, in: directory, target)
        } catch let error where error.kind == .crossDevice {
            return try putCopy(in: directory, target)
        }
    }

    /// Gives the file at `source` the name that the target requests.
    ///
    /// - Parameter isReplacement: Whether the file is in a directory for files that replace others.
    mutating func put(
        _ source: String, in directory: String, _ target: PlacementTarget, isReplacement: Bool = false
    ) throws(FileFailure) -> String {
        switch target.place {
        case .directory(_, let name, let isCallers, _):
            return try put(source, in: directory, name: name, isCallers: isCallers, for: target)
        case .path(let path, _):
            let spelling = DirectoryNames.Spelling(of: path)
            return try target.names.withTurn(spelling) { () throws(FileFailure) in
                let present = try disk.information(at: path)
                if let present { try checkSpelling(of: path, present, target) }
                // The path is checked again, because directories may have been replaced while this thread waited.
                try checkWay(to: target)
                if target.replacesFiles {
                    try replace(path, present, by: source, isReplacement: isReplacement)
                } else {
                    try disk.rename(source, toUnused: path)
                    noteTaken(source)
                }
                target.names.give(path, spelling, to: target.resource, try? disk.information(at: path))
                return path
            }
        }
    }

    /// Throws if the volume treats the path as equal to the path of another download of this process.
    private func checkSpelling(
        of path: String, _ present: FileInformation, _ target: PlacementTarget
    ) throws(FileFailure) {
        guard target.names.others(than: target.resource, at: path).contains(where: { !$0.has(path) && $0.has(present) })
        else { return }
        throw FileFailure(
            .unusablePath, errno: 0, operation: "replace", name: PartialNames.lastComponent(of: path),
            reason: "on this volume it is the file of another download, whose name has another spelling")
    }

    /// Throws if the path to the target leads out of the directory that it has to stay in.
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
                    .unusablePath, errno: 0, operation: "place a file below",
                    name: String(decoding: component, as: UTF8.self), reason: "it is not a directory")
            }
        }
    }

    /// Replaces the file at `path` atomically.
    mutating func replace(_ path: String, by source: String) throws(FileFailure) {
        try replace(path, try disk.information(at: path), by: source)
    }

    private mutating func replace(
        _ path: String, _ present: FileInformation?, by source: String, isReplacement: Bool = false
    ) throws(FileFailure) {
        try present?.checkReplaceable(at: path)
        do {
            try disk.rename(source, to: path)
        } catch let error where error.kind == .denied && isReplacement && present?.kind != .symbolicLink {
            // `replaceItem` isn't used for a symbolic link, because it might replace the link's target.
            try disk.replaceItem(at: path, by: source)
        } catch let error where error.kind == .missing {
            // Either the source or the destination may be missing.
            if source == ownPath { try file.checkOwnership(names, at: ownPath, on: disk) }
            throw error
        }
        noteTaken(source)
    }

    /// Records that the file at `source` now has its final name.
    mutating func noteTaken(_ source: String) {
        if source == ownPath { isTaken = true }
    }

    var disk: any FileSystem { store.disk }

    /// A function that syncs a directory.
    typealias DirectorySync = (String) throws(FileFailure) -> Void

    /// Syncs the directories of all targets, each with a call of `synchronize`.
    mutating func synchronizeDirectories(with synchronize: DirectorySync) {
        for directory in Set(directories) { self.synchronize(directory, with: synchronize) }
    }

    /// Syncs the target directories other than the partial's own; returns false if one cannot be synced.
    mutating func synchronizeOtherDirectories() -> Bool {
        let own = ByteText(names.directory)
        guard directories.contains(where: { $0 != own }) else { return true }
        return Set(directories).subtracting([own]).reduce(true) { allAreSynced, directory in
            synchronize(directory, with: store.synchronizeDirectoryRetrying) && allAreSynced
        }
    }

    /// Syncs the partial's own directory if a target is in it, or if `hasChanged` is true.
    mutating func synchronizeOwnDirectory(hasChanged: Bool) {
        let own = ByteText(names.directory)
        if hasChanged || directories.contains(own) { synchronize(own, with: store.synchronizeDirectoryRetrying) }
    }

    /// Syncs a directory; a failure applies to each target in it, because its new name may be lost (rule 45).
    @discardableResult
    private mutating func synchronize(_ directory: ByteText, with synchronize: DirectorySync) -> Bool {
        guard store.synchronizes(file) else { return true }
        let served = results.indices.filter { index in
            if case .success = results[index] { directories[index] == directory } else { false }
        }
        guard !served.isEmpty || directory == ByteText(names.directory) else { return true }
        do {
            try synchronize(directory.text)
            return true
        } catch {
            let lost = served.filter { error.kind != .denied || !synchronizeFile(of: results[$0]) }
            for index in lost { results[index] = .failure(error) }
            return lost.isEmpty
        }
    }
}

/// A destination of a finished file.
struct PlacementTarget: Sendable {
    enum Place: Sendable, Hashable {
        /// Exactly this path, where the file replaces an existing one.
        ///
        /// If `below` is not nil, the path is below that directory, and no directory in between may be a symbolic link.
        case path(String, below: String?)
        /// A directory, in which the file gets the name or a numbered variant of it.
        ///
        /// A name that the caller chose, such as the last component of the URL, replaces an existing file unless the
        /// file was placed there for another resource. A name that the server suggests replaces no file.
        ///
        /// If `below` is not nil, the directory is below it, and no directory in between may be a symbolic link.
        case directory(String, name: String, isCallers: Bool, below: String? = nil)
    }

    var place: Place
    /// The URL of the destination, which may carry a permission of the user (a path doesn't).
    var url: URL?
    /// The key of the resource; nil for a file that doesn't belong to a resource.
    var resource: ResourceKey?
    /// The names that this process has used in directories.
    var names: DirectoryNames
    /// The request of the resource; nil for a file that doesn't belong to a resource.
    var request: RequestRecord?
    /// The digest of the resource in the records of finished files, which is needed only if a file exists at the target.
    var recordedResource: ResourceDigest? { request.flatMap(ResourceDigest.init) }
    /// Whether the file may replace another one.
    var replacesFiles = true
    /// Returns whether an existing file without a record may be replaced if it has the name that the caller chose.
    var mayReplaceUnrecorded: @Sendable (FileInformation) -> Bool = { _ in true }
    /// Returns whether no request of another resource names the path.
    var isFree: @Sendable (String) -> Bool

    init(
        _ place: Place, resource: ResourceKey?, names: DirectoryNames, isFree: @escaping @Sendable (String) -> Bool
    ) {
        self.place = place
        self.resource = resource
        self.names = names
        self.isFree = isFree
    }

    /// Creates a target at exactly `path`, regardless of other files that this process places.
    init(path: String) {
        self.init(.path(path, below: nil), resource: nil, names: DirectoryNames(), isFree: { _ in true })
    }
}

extension PlacementTarget.Place {
    /// The directory that receives the file.
    var directory: String {
        switch self {
        case .path(let path, _): PartialNames.directory(of: path)
        case .directory(let path, _, _, _): path
        }
    }

    /// Returns whether the places have the same bytes; canonically equivalent names may belong to two files.
    static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.path(let left, let leftTop), .path(let right, let rightTop)):
            left.hasSameBytes(as: right) && leftTop.map(ByteText.init) == rightTop.map(ByteText.init)
        case (
            .directory(let left, let leftName, let isLeftCallers, let leftTop),
            .directory(let right, let rightName, let isRightCallers, let rightTop)
        ):
            left.hasSameBytes(as: right) && leftName.hasSameBytes(as: rightName) && isLeftCallers == isRightCallers
                && leftTop.map(ByteText.init) == rightTop.map(ByteText.init)
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .path(let path, _): hasher.combine(ByteText(path))
        case .directory(let path, let name, _, _):
            hasher.combine(ByteText(path))
            hasher.combine(ByteText(name))
        }
    }
}
