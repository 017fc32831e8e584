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

    /// Changes the element in a slot, which must be in use, in place.
    mutating func update<Value>(_ slot: Int32, _ body: (inout Element) -> Value) -> Value {
        let index = Int(slot)
        precondition(slots.indices.contains(index), "slot \(slot) doesn't exist")
        // Through a pointer, the element is changed in place instead of being moved out of the table and back.
        let value = slots.withUnsafeMutableBufferPointer { $0[index].update(body) }
        guard let value else { preconditionFailure("slot \(slot) is free") }
        return value
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

/// An element of a ``SlotHeap``, which records where it is in the heap.
protocol HeapElement: Sendable {
    associatedtype Order: Comparable

    /// The value that determines the element's position in the order.
    var order: Order { get }
    /// The index in the heap, which only the heap uses.
    var heapIndex: Int32 { get set }
}

/// A binary heap of elements that are in a ``SlotTable``.
///
/// Inserting and removing an element take O(log n) steps. The elements know where they are in the heap, so that no hash
/// table is needed to find one.
struct SlotHeap<Element: HeapElement>: Sendable {
    typealias Table = SlotTable<Element>

    // No element is smaller than its parent; the parent of index i is at (i - 1) / 2.
    private var slots: [Int32] = []

    /// The slot of the smallest element, or nil if the heap is empty.
    var first: Int32? { slots.first }

    /// Whether the heap has no elements.
    var isEmpty: Bool { slots.isEmpty }

    /// The slots of all elements, in no particular order.
    var all: [Int32] { slots }

    /// Adds the element in a slot.
    mutating func insert(_ slot: Int32, in table: inout Table) {
        slots.append(slot)
        place(slot, at: slots.count - 1, in: &table)
    }

    /// Removes the element in a slot, which must be in the heap.
    mutating func remove(_ slot: Int32, in table: inout Table) {
        let index = Int(table[slot].heapIndex)
        let last = slots.removeLast()
        if slots.isEmpty { slots = [] }
        if index < slots.count { place(last, at: index, in: &table) }
    }

    /// Puts an element into the free place at `index`, or moves it up or down to where the order requires it.
    private mutating func place(_ slot: Int32, at index: Int, in table: inout Table) {
        let order = table[slot].order
        var index = index
        while index > 0, order < table[slots[(index - 1) / 2]].order {
            put(slots[(index - 1) / 2], at: index, in: &table)
            index = (index - 1) / 2
        }
        while let child = smallestChild(of: index, in: table), table[slots[child]].order < order {
            put(slots[child], at: index, in: &table)
            index = child
        }
        put(slot, at: index, in: &table)
    }

    private func smallestChild(of index: Int, in table: Table) -> Int? {
        let (left, right) = (2 * index + 1, 2 * index + 2)
        guard right < slots.count else { return left < slots.count ? left : nil }
        return table[slots[right]].order < table[slots[left]].order ? right : left
    }

    private mutating func put(_ slot: Int32, at index: Int, in table: inout Table) {
        slots[index] = slot
        table.update(slot) { $0.heapIndex = Int32(index) }
    }
}
