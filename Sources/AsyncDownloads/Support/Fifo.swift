/// Elements that are removed in the order in which they were added.
///
/// Adding and removing an element take O(1) steps, averaged over many calls.
struct Fifo<Element> {
    private var added: [Element] = []
    /// The elements that were added before those in ``added``, the oldest one last.
    private var reversed: [Element] = []

    /// Whether there are no elements.
    var isEmpty: Bool { added.isEmpty && reversed.isEmpty }

    /// Adds an element.
    mutating func append(_ element: Element) { added.append(element) }

    /// Adds an element that is removed first.
    mutating func putBack(_ element: Element) { reversed.append(element) }

    /// Removes the oldest element, and returns it; nil if there is none.
    mutating func popFirst() -> Element? {
        if reversed.isEmpty, !added.isEmpty { (reversed, added) = (added.reversed(), []) }
        return reversed.popLast()
    }
}

extension Fifo: Sendable where Element: Sendable {}
