/// Which names in which directories the files of this process got, so that none is given to two resources.
///
/// Everything that is decided for a name, by whatever spelling, is decided by one thread at a time, the disk's work
/// included. So a name that was found to be free is still free, as far as this process goes. Other processes are kept
/// off by a rename that replaces nothing.
package final class DirectoryNames: Sendable {
    /// What tells most files of one name apart without reading them whole.
    struct Signature: Sendable, Hashable {
        var size: Int64
        /// A hash value of the first and the last 4 KiB.
        var ends: Int
    }

    /// The numbered names of one name in one directory.
    struct Numbering: Sendable {
        /// The first number that was not looked at; 0 is the name without a number.
        var next = 0
        /// Files of earlier processes by their signature, which a file that is the same may be.
        var others: [Signature: [String]] = [:]
        /// What each resource got, by a hash value of the resource: the path, and the file as it was then.
        var given: [Int: (path: String, file: FileInformation?)] = [:]

        /// Forgets the files where they are too many; what is on disk is found again, or gets another number.
        fileprivate mutating func bound() {
            if given.count > DirectoryNames.capacity { given = [:] }
            if others.count > DirectoryNames.capacity { others = [:] }
        }
    }

    private struct State {
        var numberings: [String: Numbering] = [:]
        /// The resource that got each path; the paths by their folded spelling.
        var firsts: [String: [String: Int]] = [:]
        /// The keys of ``firsts``, oldest first.
        var order: [String] = []
        /// Whether some of that was forgotten, so that a path which is not known may have been given all the same.
        var hasForgotten = false
    }

    // A server that downloads for years must not remember every file.
    fileprivate static let capacity = 100_000

    private let state = Mutex(State())
    private let turns = KeyedLock<String>()

    package init() {}

    /// Runs `body` while nobody else decides about `name` in `directory`, by whatever spelling.
    func withTurn<Value, Failure: Error>(
        _ name: String, in directory: String, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try turns.withLock(Self.folded(PartialNames.join(directory, name)), body)
    }

    /// Takes out what is known of the numbered names of `name`, to be put back at the end of the turn.
    ///
    /// Taken out rather than copied, since each change of a copy would copy all of it.
    func takeNumbering(of name: String, in directory: String) -> Numbering {
        state.withLock { $0.numberings.removeValue(forKey: PartialNames.join(directory, name)) ?? Numbering() }
    }

    /// Puts back what ``takeNumbering(of:in:)`` has taken out.
    func putBack(_ numbering: consuming Numbering, of name: String, in directory: String) {
        numbering.bound()
        let value = numbering
        state.withLock { state in
            // What is forgotten is found again on disk, since no numbered name replaces a file.
            if state.numberings.count >= Self.capacity { state.numberings = [:] }
            state.numberings[PartialNames.join(directory, name)] = value
        }
    }

    /// The paths of other resources that are the same as `path` but for their spelling, `path` itself included.
    func others(than resource: String, at path: String) -> [String] {
        state.withLock { state in
            (state.firsts[Self.folded(path)] ?? [:]).filter { $0.value != resource.hashValue }.map(\.key)
        }
    }

    /// Whether a path may have been given to another resource without this being known any more.
    func mayBeForgotten(_ path: String) -> Bool {
        state.withLock { $0.hasForgotten && $0.firsts[Self.folded(path)] == nil }
    }

    /// The path is that of this resource's file now, or is about to be.
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

    /// The path was not given to this resource after all.
    func withdraw(_ path: String, from resource: String) {
        let key = Self.folded(path)
        state.withLock { state in
            if state.firsts[key]?[path] == resource.hashValue { state.firsts[key]?[path] = nil }
        }
    }

    /// One spelling for all that some volume may take for one name.
    private static func folded(_ path: String) -> String {
        // Upper case first, since some letters have no lower case of their own length.
        path.uppercased().lowercased()
    }
}
