internal import Synchronization

/// A counter of concurrent calls.
final class Counter: Sendable {
    private let count = Atomic(0)

    /// Increments the count, and returns it.
    func enter() -> Int { count.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue }

    func leave() { count.wrappingSubtract(1, ordering: .sequentiallyConsistent) }
}
