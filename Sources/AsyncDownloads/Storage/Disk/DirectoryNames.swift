/// The names that files of this process received in directories, so that no name is given to two resources.
///
/// Only one thread at a time makes a decision about a name, in any spelling, including the work on disk. Therefore, a
/// name that was found unused stays unused by this process. Against other processes, files are renamed in a way that
/// fails if the new name exists.
final class DirectoryNames: Sendable {
    /// A summary that distinguishes most files without reading them completely.
    struct Signature: Sendable, Hashable {
        var size: Int64
        /// A hash value of the first and the last 4 KiB.
        var ends: Int
    }

    /// The numbered variants of one name in one directory.
    struct Numbering: Sendable {
        /// The next number to examine; 1 is the name without a number.
        var next = 1
        /// The paths of other existing files by signature; one of them may have the same bytes as a new file.
        var others: [Signature: [String]] = [:]
        /// The path given to each resource, by the resource's hash value, and the information about its file then.
        var given: [Int: (path: String, file: FileInformation?)] = [:]

        /// Removes all entries if there are too many.
        ///
        /// After the removal, files on disk are found again, or new files get other numbers.
        fileprivate mutating func bound(to capacity: Int) {
            if given.count > capacity { given = [:] }
            if others.count > capacity { others = [:] }
        }
    }

    private struct State {
        var numberings: [ByteText: Numbering] = [:]
        /// The names that were given last.
        var recent = Given()
        /// The names that were given before those in ``recent``.
        var earlier = Given()
        /// Whether names were removed, so that an unknown path may have been given to a resource.
        ///
        /// The record of a finished file doesn't show that: a resource with the same bytes may have been given the file,
        /// whose record names the resource that was downloaded.
        var hasForgotten = false

        func owners(of spelling: Spelling) -> [Owner] { recent.owners(of: spelling) + earlier.owners(of: spelling) }
    }

    /// A key that is equal for all paths that some volume may treat as equal.
    struct Spelling: Sendable, Hashable {
        private let digest: HashDigest

        init(of path: String) {
            // The digests of canonically equivalent texts are equal.
            digest = HashDigest(FileName.folded(path))
        }
    }

    /// A resource whose file has a path.
    ///
    /// It contains hash values only. A text for each file would need five times the memory, and its place between
    /// values of short life would keep their memory from being returned.
    struct Owner: Sendable, Equatable {
        private let path: Int
        private let resource: Int
        private let file: Int?

        fileprivate init(_ path: String, _ resource: ResourceKey?, _ file: FileInformation?) {
            self.path = Self.hash(path)
            self.resource = resource.hashValue
            self.file = file.map(Self.hash)
        }

        /// Whether the path has the same bytes, not only a spelling that some volume may treat as equal.
        func has(_ path: String) -> Bool { self.path == Self.hash(path) }

        /// Whether the file is the one that got the path.
        func has(_ file: FileInformation) -> Bool { self.file == Self.hash(file) }

        fileprivate func isOther(than resource: ResourceKey?) -> Bool { self.resource != resource.hashValue }

        private static func hash(_ path: String) -> Int { ByteText(path).hashValue }

        private static func hash(_ file: FileInformation) -> Int {
            var hasher = Hasher()
            hasher.combine(file.device)
            hasher.combine(file.inode)
            // The inode of a removed file is used again.
            hasher.combine(file.size)
            hasher.combine(file.modificationTime)
            return hasher.finalize()
        }
    }

    /// The owners of paths.
    private struct Given: Sendable {
        private var first: [Spelling: Owner] = [:]
        /// Owners of paths that have the spelling of a path in ``first``, but not its bytes.
        private var others: [Spelling: [Owner]] = [:]

        var count: Int { first.count + others.count }

        func owners(of spelling: Spelling) -> [Owner] {
            guard let owner = first[spelling] else { return [] }
            return [owner] + (others[spelling] ?? [])
        }

        mutating func add(_ owner: Owner, of path: String, _ spelling: Spelling) {
            if let present = first[spelling], !present.has(path) {
                others[spelling, default: []].removeAll { $0.has(path) }
                others[spelling, default: []].append(owner)
            } else {
                first[spelling] = owner
            }
        }

        /// Removes the owners of a path that satisfy a condition.
        mutating func remove(_ spelling: Spelling, where isRemoved: (Owner) -> Bool) {
            var owners = owners(of: spelling)
            owners.removeAll(where: isRemoved)
            first[spelling] = owners.first
            others[spelling] = owners.count > 1 ? Array(owners.dropFirst()) : nil
        }
    }

    /// The maximum number of entries of each table, because a server may download files for years.
    private let capacity: Int
    private let state = Mutex(State())
    private let turns = KeyedLock<Spelling>()

    /// Creates a record without names.
    ///
    /// - Parameter capacity: The number of names that the record keeps at least; it keeps twice that number at most. A
    ///   dictionary with more than 49,152 entries would need twice the memory.
    init(capacity: Int = 49_000) {
        self.capacity = capacity
    }

    /// Runs `body` while no other thread makes a decision about `name` in `directory`, in any spelling.
    func withTurn<Value, Failure: Error>(
        _ name: String, in directory: String, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try withTurn(Spelling(of: PartialNames.join(directory, name)), body)
    }

    /// Runs `body` while no other thread makes a decision about a path with this spelling.
    func withTurn<Value, Failure: Error>(
        _ spelling: Spelling, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try turns.withLock(spelling, body)
    }

    /// Whether a thread is making a decision about the name of a target, which may take long.
    func isDeciding(about place: PlacementTarget.Place) -> Bool {
        switch place {
        case .path(let path, _): turns.isLocked(Spelling(of: path))
        case .directory(let directory, let name, _, _):
            turns.isLocked(Spelling(of: PartialNames.join(directory, name)))
        }
    }

    /// Removes and returns the record of the numbered variants of `name`; ``putBack(_:of:in:)`` restores it.
    ///
    /// The value is moved out, because changing a copy would copy all its storage.
    func takeNumbering(of name: String, in directory: String) -> Numbering {
        let path = ByteText(PartialNames.join(directory, name))
        return state.withLock { $0.numberings.removeValue(forKey: path) ?? Numbering() }
    }

    /// Restores the value that ``takeNumbering(of:in:)`` returned.
    func putBack(_ numbering: consuming Numbering, of name: String, in directory: String) {
        numbering.bound(to: capacity)
        let value = numbering
        state.withLock { state in
            // Removed entries are found again on disk, because a numbered name never replaces a file.
            if state.numberings.count >= capacity { state.numberings = [:] }
            state.numberings[ByteText(PartialNames.join(directory, name))] = value
        }
    }

    /// Returns the other resources that have a path that a volume may treat as equal to `path`, or `path` itself.
    func others(than resource: ResourceKey?, at path: String) -> [Owner] {
        others(than: resource, at: Spelling(of: path))
    }

    /// Returns the other resources that have a path with this spelling.
    func others(than resource: ResourceKey?, at spelling: Spelling) -> [Owner] {
        state.withLock { $0.owners(of: spelling).filter { $0.isOther(than: resource) } }
    }

    /// Returns whether the path may have been given to another resource and then removed from the record.
    func mayBeForgotten(_ path: String) -> Bool {
        let spelling = Spelling(of: path)
        return state.withLock { $0.hasForgotten && $0.owners(of: spelling).isEmpty }
    }

    /// Records that the resource's file has, or is about to get, the path.
    ///
    /// - Parameter file: The file; nil if it is unknown, so that another spelling can't be recognized as the same file.
    func give(_ path: String, _ spelling: Spelling? = nil, to resource: ResourceKey?, _ file: FileInformation?) {
        let (owner, spelling) = (Owner(path, resource, file), spelling ?? Spelling(of: path))
        state.withLock { state in
            state.earlier.remove(spelling) { $0.has(path) }
            state.recent.add(owner, of: path, spelling)
            guard state.recent.count > capacity else { return }
            if state.earlier.count > 0 { state.hasForgotten = true }
            (state.earlier, state.recent) = (state.recent, Given())
        }
    }

    /// Removes the record that the resource's file has the path.
    func withdraw(_ path: String, from resource: ResourceKey?) {
        let spelling = Spelling(of: path)
        state.withLock { state in
            state.recent.remove(spelling) { $0.has(path) && !$0.isOther(than: resource) }
            state.earlier.remove(spelling) { $0.has(path) && !$0.isOther(than: resource) }
        }
    }
}
