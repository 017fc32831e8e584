/// A table of elements that are found by the number of their slot, without a hash table.
///
/// Adding and removing an element take O(1) steps, averaged over many calls. The slots of removed elements are used
/// again, and the table shrinks when its last slots are free.
struct SlotTable<Element: Sendable>: Sendable {
    private var slots: [Element?] = []
    /// The free slots, and numbers of slots that no longer exist because the table has shrunk.
    private var free: [Int32] = []

    /// The number of elements.
    private(set) var count = 0

    /// Returns the element in a slot, or nil if the slot is free or doesn't exist.
    func element(in slot: Int32) -> Element? {
        slots.indices.contains(Int(slot)) ? slots[Int(slot)] : nil
    }

    /// Returns the element in a slot, which must be in use.
    subscript(slot: Int32) -> Element {
        guard let element = slots[Int(slot)] else { preconditionFailure("slot \(slot) is free") }
        return element
    }

    /// Changes the element in a slot, which must be in use, without a copy of what it contains.
    mutating func update<Value>(_ slot: Int32, _ body: (inout Element) -> Value) -> Value {
        // The element is moved out of the table, so that it is uniquely referenced and can be changed in place.
        guard var element = slots[Int(slot)].take() else { preconditionFailure("slot \(slot) is free") }
        defer { slots[Int(slot)] = element }
        return body(&element)
    }

    /// Adds an element and returns its slot.
    mutating func insert(_ element: Element) -> Int32 {
        count += 1
        while let slot = free.popLast() {
            guard slots.indices.contains(Int(slot)), case .none = slots[Int(slot)] else { continue }
            slots[Int(slot)] = element
            return slot
        }
        slots.append(element)
        return Int32(slots.count - 1)
    }

    /// Removes the element in a slot, which must be in use.
    mutating func remove(at slot: Int32) {
        count -= 1
        guard count > 0 else {
            (slots, free) = ([], [])
            return
        }
        slots[Int(slot)] = nil
        guard Int(slot) == slots.count - 1 else { return free.append(slot) }
        while case .some(nil) = slots.last { slots.removeLast() }
        if free.count > slots.count { free.removeAll { Int($0) >= slots.count } }
    }
}
