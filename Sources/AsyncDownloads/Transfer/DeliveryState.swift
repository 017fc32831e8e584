/// The delivery of the file: the files at the destinations, the reserved paths, and whether every subscriber has been
/// served.
struct DeliveryState: Sendable {
    /// The reserved path of a detached subscriber.
    struct HeldPath: Sendable {
        let path: String
        /// Whether the file may be placed there in the current round of the delivery, but not in a later one.
        let isClosing: Bool
    }

    /// The files that existed at the destinations.
    var examinedFiles = ExaminedFiles()
    /// Whether every subscriber has its result, so that no other subscriber can attach.
    private(set) var isServed = false
    /// The reserved paths of detached subscribers at which a file may still be placed.
    private var held: [HeldPath] = []

    /// Records that every subscriber has its result.
    mutating func serve() {
        isServed = true
    }

    /// Records that the transfer restarts, so that its subscribers need new results.
    mutating func restart() {
        isServed = false
    }

    /// Keeps the reserved path of a subscriber that is being detached.
    mutating func hold(_ path: String, isClosing: Bool) {
        held.append(HeldPath(path: path, isClosing: isClosing))
    }

    /// Returns whether the path is kept.
    func holds(_ path: String) -> Bool {
        // Paths are compared by bytes, because two files may have canonically equivalent names.
        held.contains { $0.path.hasSameBytes(as: path) }
    }

    /// Removes and returns the paths at which nothing is placed after the current round.
    ///
    /// - Parameter kept: The path to keep anyway.
    mutating func takeClosing(except kept: String?) -> [String] {
        var closing: [String] = []
        held.removeAll { path in
            guard path.isClosing, kept.map({ !path.path.hasSameBytes(as: $0) }) ?? true else { return false }
            closing.append(path.path)
            return true
        }
        return closing
    }

    /// Removes and returns all paths.
    mutating func takeHeld() -> [HeldPath] {
        defer { held = [] }
        return held
    }
}
