/// The names that files of this process received in directories, so that no name is given to two resources.
///
/// Only one thread at a time makes a decision about a name, in any spelling, including the work on disk. Therefore, a
/// name that was found unused stays unused by this process. Against other processes, files are renamed in a way that
/// fails if the new name exists.
package final class DirectoryNames: Sendable {
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
        /// The paths that were given to resources, grouped by their folded spelling.
        var given: [Spelling: Given] = [:]
        /// The keys of ``given``, oldest first.
        var order: [Spelling] = []
        /// Whether entries were removed, so that an unknown path may have been given to a resource.
        ///
        /// The record of a finished file doesn't show that: a resource with the same bytes may have been given the file,
        /// whose record names the resource that was downloaded.
        var hasForgotten = false
    }

    /// A key that is equal for all paths that some volume may treat as equal.
    struct Spelling: Sendable, Hashable {
        private let digest: HashDigest

        init(of path: String) {
            // The digests of canonically equivalent texts are equal.
            digest = HashDigest(FileName.folded(path))
        }
    }

    /// The paths of one spelling, and the hash values of the resources that received them.
    private struct Given: Sendable {
        private var first: (path: String, resource: Int)?
        private var others: [(path: String, resource: Int)] = []

        /// The paths that were given to resources other than the one with this hash value.
        func paths(ofOthersThan resource: Int) -> [String] {
            ([first].compactMap { $0 } + others).filter { $0.resource != resource }.map(\.path)
        }

        mutating func give(_ path: String, to resource: Int) {
            if let present = first, !present.path.hasSameBytes(as: path) {
                others.removeAll { $0.path.hasSameBytes(as: path) }
                others.append((path, resource))
            } else {
                first = (path, resource)
            }
        }

        mutating func withdraw(_ path: String, from resource: Int) {
            others.removeAll { $0.path.hasSameBytes(as: path) && $0.resource == resource }
            guard let present = first, present.path.hasSameBytes(as: path), present.resource == resource else { return }
            first = others.popLast()
        }
    }

    /// The maximum number of entries of each table, because a server may download files for years.
    private let capacity: Int
    private let state = Mutex(State())
    private let turns = KeyedLock<Spelling>()

    /// Creates a record without names.
    ///
    /// - Parameter capacity: The number of names that the record keeps. A dictionary with more than 98,304 entries would
    ///   need twice the memory.
    package init(capacity: Int = 98_000) {
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

    /// Returns the paths of other resources that a volume may treat as equal to `path`, including `path` itself.
    func others(than resource: ResourceKey?, at path: String) -> [String] {
        others(than: resource, at: Spelling(of: path))
    }

    /// Returns the paths with this spelling that were given to other resources.
    func others(than resource: ResourceKey?, at spelling: Spelling) -> [String] {
        state.withLock { $0.given[spelling]?.paths(ofOthersThan: resource.hashValue) ?? [] }
    }

    /// Returns whether the path may have been given to another resource and then removed from the record.
    func mayBeForgotten(_ path: String) -> Bool {
        let spelling = Spelling(of: path)
        return state.withLock { $0.hasForgotten && $0.given[spelling] == nil }
    }

    /// Records that the resource's file has, or is about to get, the path.
    func give(_ path: String, to resource: ResourceKey?) {
        give(path, Spelling(of: path), to: resource)
    }

    /// Records that the resource's file has the path, which has this spelling.
    func give(_ path: String, _ spelling: Spelling, to resource: ResourceKey?) {
        state.withLock { state in
            if state.given[spelling] == nil { state.order.append(spelling) }
            state.given[spelling, default: Given()].give(path, to: resource.hashValue)
            guard state.order.count > capacity else { return }
            let forgotten = state.order.prefix(capacity / 2)
            for spelling in forgotten { state.given[spelling] = nil }
            state.order.removeFirst(forgotten.count)
            state.hasForgotten = true
        }
    }

    /// Removes the record that the resource's file has the path.
    func withdraw(_ path: String, from resource: ResourceKey?) {
        let spelling = Spelling(of: path)
        state.withLock { $0.given[spelling]?.withdraw(path, from: resource.hashValue) }
    }
}
