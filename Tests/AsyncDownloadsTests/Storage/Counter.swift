internal import Synchronization

/// Counts who is inside.
final class Counter: Sendable {
    private let count = Atomic(0)

    /// How many are inside now, the caller included.
    func enter() -> Int { count.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue }

    func leave() { count.wrappingSubtract(1, ordering: .sequentiallyConsistent) }
}
