/// The names that files of this process received in directories, so that no name is given to two resources.
///
/// All decisions about a name, in any spelling, are made by one thread at a time, including the work on disk. A name
/// that was found to be unused therefore stays unused by this process. A rename that replaces no file excludes other
/// processes.
package final class DirectoryNames: Sendable {
    /// A summary that distinguishes most files without reading them completely.
    struct Signature: Sendable, Hashable {
        var size: Int64
        /// A hash value of the first and the last 4 KiB.
        var ends: Int
    }

    /// The numbered variants of one name in one directory.
    struct Numbering: Sendable {
        /// The first number that was not examined; 0 is the name without a number.
        var next = 0
        /// Files of earlier processes by their signature; one of them may have the same bytes as a new file.
        var others: [Signature: [String]] = [:]
        /// The path that each resource received, with its file at that time, by the resource's hash value.
        var given: [Int: (path: String, file: FileInformation?)] = [:]

        /// Removes all entries if there are too many.
        ///
        /// Files on disk are then found again, or new files get other numbers.
        fileprivate mutating func bound() {
            if given.count > DirectoryNames.capacity { given = [:] }
            if others.count > DirectoryNames.capacity { others = [:] }
        }
    }

    private struct State {
        var numberings: [String: Numbering] = [:]
        /// The hash value of the resource that received each path, grouped by the path's folded spelling.
        var firsts: [String: [String: Int]] = [:]
        /// The keys of ``firsts``, oldest first.
        var order: [String] = []
        /// Whether entries were removed, so that an unknown path may have been given to a resource.
        var hasForgotten = false
    }

    // A server that downloads for years must not accumulate an entry per file.
    fileprivate static let capacity = 100_000

    private let state = Mutex(State())
    private let turns = KeyedLock<String>()

    package init() {}

    /// Runs `body` while no other thread decides about `name` in `directory`, in any spelling.
    func withTurn<Value, Failure: Error>(
        _ name: String, in directory: String, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try turns.withLock(Self.folded(PartialNames.join(directory, name)), body)
    }

    /// Removes and returns what is known of the numbered variants of `name`; ``putBack(_:of:in:)`` restores it.
    ///
    /// The value is moved out because each change of a copy would copy all of it.
    func takeNumbering(of name: String, in directory: String) -> Numbering {
        state.withLock { $0.numberings.removeValue(forKey: PartialNames.join(directory, name)) ?? Numbering() }
    }

    /// Restores the value that ``takeNumbering(of:in:)`` returned.
    func putBack(_ numbering: consuming Numbering, of name: String, in directory: String) {
        numbering.bound()
        let value = numbering
        state.withLock { state in
            // Removed entries are found again on disk, because a numbered name never replaces a file.
            if state.numberings.count >= Self.capacity { state.numberings = [:] }
            state.numberings[PartialNames.join(directory, name)] = value
        }
    }

    /// Returns the paths of other resources that equal `path` except for their spelling, including `path` itself.
    func others(than resource: String, at path: String) -> [String] {
        state.withLock { state in
            (state.firsts[Self.folded(path)] ?? [:]).filter { $0.value != resource.hashValue }.map(\.key)
        }
    }

    /// Returns whether the path may have been given to another resource and then removed from the record.
    func mayBeForgotten(_ path: String) -> Bool {
        state.withLock { $0.hasForgotten && $0.firsts[Self.folded(path)] == nil }
    }

    /// Records that the resource's file has the path, or is about to get it.
    func give(_ path: String, to resource: String) {
        let key = Self.folded(path)
        state.withLock { state in
            if state.firsts[key] == nil { state.order.append(key) }
            state.firsts[key, default: [:]][path] = resource.hashValue
            guard state.order.count > Self.capacity else { return }
            let forgotten = state.order.prefix(Self.capacity / 2)
            for key in forgotten { state.firsts[key] = nil }
            state.order.removeFirst(forgotten.count)
            state.hasForgotten = true
        }
    }

    /// Removes the record that the resource's file has the path.
    func withdraw(_ path: String, from resource: String) {
        let key = Self.folded(path)
        state.withLock { state in
            if state.firsts[key]?[path] == resource.hashValue { state.firsts[key]?[path] = nil }
        }
    }

    /// Returns one spelling for all paths that some volume may treat as equal.
    private static func folded(_ path: String) -> String {
        // Uppercase first, because some letters have no lowercase form of one letter.
        path.uppercased().lowercased()
    }
}
