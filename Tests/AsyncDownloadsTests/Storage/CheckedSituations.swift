@testable import AsyncDownloads

/// The situations after crashes that a test has checked.
///
/// Scripts and failures that begin alike lead to many equal situations.
final class CheckedSituations: Sendable {
    private let situations = Mutex<Set<Int>>([])

    /// Adds a situation, and returns whether it is new.
    func insert(_ situation: Int) -> Bool { situations.withLock { $0.insert(situation).inserted } }
}

extension SimulatedDisk {
    /// Returns a hash value of everything that a process finds on the disk, and of what else a check depends on.
    func situation(_ others: AnyHashable...) -> Int {
        var hasher = Hasher()
        hasher.combine(directories)
        for (name, number) in names.sorted(by: { $0.key < $1.key }) {
            guard let node = nodes[number] else { continue }
            hasher.combine(name)
            hasher.combine(number)
            hasher.combine(node.number)
            hasher.combine(node.bytes.count)
            // Bytes one at a time take most of the time of a test.
            node.bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
            hasher.combine(node.attributes)
        }
        hasher.combine(others)
        return hasher.finalize()
    }
}
