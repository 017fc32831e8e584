/// A gate that holds back events until the tasks of earlier processes have been matched with the journal.
///
/// A session delivers events from the moment it exists. Before the match is complete, an event could be taken for one
/// of a task that does not exist. The gate keeps the order of the events.
struct DeliveryGate<Event: Sendable>: Sendable {
    private var held: [Event] = []
    private(set) var isOpen = false

    /// The events that arrived while the gate was closed, in order.
    var heldEvents: [Event] { isOpen ? [] : held }

    /// Passes an event on, or keeps it while the gate is closed.
    ///
    /// - Returns: The events to process now.
    mutating func receive(_ event: Event) -> [Event] {
        guard !isOpen else { return [event] }
        held.append(event)
        return []
    }

    /// Opens the gate, and returns the events that it has kept.
    mutating func open() -> [Event] {
        isOpen = true
        defer { held = [] }
        return held
    }
}
