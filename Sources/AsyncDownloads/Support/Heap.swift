/// A binary heap that provides its smallest element first and finds any element by its key.
///
/// Inserting, changing, and removing an element take O(log n) steps. A removed element leaves no placeholder.
struct Heap<Key: Hashable & Sendable, Order: Comparable & Sendable>: Sendable {
    /// A key, and the value that determines its position in the order.
    typealias Element = (key: Key, order: Order)

    // No element is smaller than its parent; the parent of index i is at (i - 1) / 2.
    private var elements: [Element] = []
    private var indices: [Key: Int] = [:]

    /// The element with the smallest order, or `nil` if the heap is empty.
    var first: Element? { elements.first }

    /// The order of the element with this key; setting nil removes the element.
    subscript(key: Key) -> Order? {
        get { indices[key].map { elements[$0].order } }
        set {
            switch (indices[key], newValue) {
            case (nil, nil): break
            case (nil, let order?):
                elements.append((key, order))
                place((key, order), at: elements.count - 1)
            case (let index?, nil): remove(at: index)
            case (let index?, let order?):
                if elements[index].order != order { place((key, order), at: index) }
            }
        }
    }

    private mutating func remove(at index: Int) {
        indices[elements[index].key] = nil
        let last = elements.removeLast()
        if index < elements.count { place(last, at: index) }
    }

    /// Puts an element into the free slot at `index`, or moves it up or down to where the order requires it.
    private mutating func place(_ element: Element, at index: Int) {
        var slot = index
        while slot > 0, element.order < elements[(slot - 1) / 2].order {
            put(elements[(slot - 1) / 2], at: slot)
            slot = (slot - 1) / 2
        }
        while let child = smallestChild(of: slot), elements[child].order < element.order {
            put(elements[child], at: slot)
            slot = child
        }
        put(element, at: slot)
    }

    private func smallestChild(of index: Int) -> Int? {
        let (left, right) = (2 * index + 1, 2 * index + 2)
        guard right < elements.count else { return left < elements.count ? left : nil }
        return elements[right].order < elements[left].order ? right : left
    }

    private mutating func put(_ element: Element, at index: Int) {
        elements[index] = element
        indices[element.key] = index
    }
}
