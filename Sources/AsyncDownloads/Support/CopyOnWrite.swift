/// A value whose copies share one allocation until one of them is changed.
struct CopyOnWrite<Value: Sendable>: Sendable {
    private final class Storage: @unchecked Sendable {  // `value` is changed only while the storage has one reference.
        // The check at run time would take longer than most accesses.
        @exclusivity(unchecked) var value: Value

        init(_ value: Value) {
            self.value = value
        }
    }

    private var storage: Storage

    init(_ value: Value) {
        storage = Storage(value)
    }

    /// The value.
    ///
    /// It is changed in place, without a copy, while no other value shares the allocation.
    var value: Value {
        get { storage.value }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
            yield &storage.value
        }
    }

    /// Returns whether both share one allocation, so that their values are equal.
    func isShared(with other: Self) -> Bool { storage === other.storage }
}

extension CopyOnWrite: Equatable where Value: Equatable {
    static func == (left: Self, right: Self) -> Bool { left.isShared(with: right) || left.value == right.value }
}

extension CopyOnWrite: Hashable where Value: Hashable {
    func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
