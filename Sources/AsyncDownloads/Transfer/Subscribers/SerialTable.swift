/// A table of elements whose identifiers are added in nearly ascending order, without hashing.
///
/// Adding an element with the highest identifier takes O(1) steps, and finding or removing an element takes O(log n)
/// steps (amortized). Elements are changed in place.
struct SerialTable<ID: SerialIdentifier, Element: Sendable>: Sendable {
    fileprivate struct Entry: Sendable {
        let id: ID
        /// The element; nil after it was removed, until the table is compacted.
        var element: Element?
    }

    private var entries: [Entry] = []

    /// The number of elements.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// The element with the lowest identifier.
    var first: Element? { entries.lazy.compactMap(\.element).first }

    /// The identifiers in ascending order.
    var ids: [ID] { entries.compactMap { $0.element == nil ? nil : $0.id } }

    /// The elements in the order of their identifiers.
    var elements: Elements { Elements(entries: entries) }

    /// Returns a copy of the element with this identifier, if it exists.
    subscript(id: ID) -> Element? { index(of: id).flatMap { entries[$0].element } }

    func contains(_ id: ID) -> Bool {
        guard let index = index(of: id) else { return false }
        return entries.withUnsafeBufferPointer { $0[index].element != nil }
    }

    /// Returns the identifier of the first element for which `isWanted` returns true.
    func firstID(where isWanted: (Element) -> Bool) -> ID? {
        entries.first { $0.element.map(isWanted) ?? false }?.id
    }

    /// Adds an element with an identifier that has not been used before.
    mutating func insert(_ element: Element, id: ID) {
        let position = entries.withUnsafeBufferPointer { Self.position(of: id, in: $0) }
        precondition(position == entries.count || entries[position].id != id, "\(id) is already used")
        entries.insert(Entry(id: id, element: element), at: position)
        count += 1
    }

    /// Removes and returns the element with this identifier, if it exists.
    @discardableResult
    mutating func remove(_ id: ID) -> Element? {
        guard let index = index(of: id), let element = entries[index].element.take() else { return nil }
        count -= 1
        if count == 0 {
            entries.removeAll(keepingCapacity: true)
        } else if entries.count > 2 * count + 8 {
            entries.removeAll { $0.element == nil }
        }
        return element
    }

    /// Removes the elements for which `isUnwanted` returns true.
    mutating func removeAll(where isUnwanted: (ID, Element) -> Bool) {
        entries.removeAll { entry in entry.element.map { isUnwanted(entry.id, $0) } ?? true }
        count = entries.count
    }

    /// Changes the element with this identifier, and returns the result of `body`; nil if it doesn't exist.
    mutating func update<Value>(_ id: ID, _ body: (inout Element) -> Value) -> Value? {
        index(of: id).flatMap { update(at: $0, body) }
    }

    /// Changes all elements, in the order of their identifiers.
    mutating func updateAll(_ body: (ID, inout Element) -> Void) {
        for index in entries.indices {
            let id = entries[index].id
            _ = update(at: index) { body(id, &$0) }
        }
    }

    private mutating func update<Value>(at index: Int, _ body: (inout Element) -> Value) -> Value? {
        // Through a pointer, the element is changed in place instead of being moved out of the table and back.
        entries.withUnsafeMutableBufferPointer { $0[index].element.update(body) }
    }

    /// Returns the position of the entry with this identifier, if it exists.
    private func index(of id: ID) -> Int? {
        entries.withUnsafeBufferPointer { entries in
            let position = Self.position(of: id, in: entries)
            return position < entries.count && entries[position].id == id ? position : nil
        }
    }

    /// Returns the position of the first entry whose identifier isn't lower.
    private static func position(of id: ID, in entries: UnsafeBufferPointer<Entry>) -> Int {
        guard !entries.isEmpty, id.rawValue <= entries[entries.count - 1].id.rawValue else { return entries.count }
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].id.rawValue < id.rawValue { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension SerialTable {
    /// The elements of a table with their identifiers.
    struct Elements: Sequence, IteratorProtocol {
        private let entries: [Entry]
        private var position = 0

        fileprivate init(entries: [Entry]) { self.entries = entries }

        mutating func next() -> (id: ID, element: Element)? {
            while position < entries.count {
                defer { position += 1 }
                if let element = entries[position].element { return (entries[position].id, element) }
            }
            return nil
        }
    }
}
