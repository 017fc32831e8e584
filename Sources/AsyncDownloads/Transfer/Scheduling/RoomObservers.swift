/// The observers of a scheduler, which start downloads when others wait or when permits are free.
struct RoomObservers: Sendable {
    /// The changes that an observer is notified of.
    enum Subject: Sendable {
        /// The changes of ``PermitQueue/heldUp``.
        case heldUp
        /// The changes of the queue after which a permit is free.
        case freePermits
    }

    private var observers: [Int: (subject: Subject, body: @Sendable () -> Void)] = [:]
    private var lastNumber = 0
    /// The number of changes of ``PermitQueue/heldUp`` that the observers have been notified of.
    private var heldUpChangeCount = 0

    /// Adds an observer, and returns its number.
    mutating func add(_ subject: Subject, _ body: @escaping @Sendable () -> Void) -> Int {
        lastNumber += 1
        observers[lastNumber] = (subject, body)
        return lastNumber
    }

    /// Removes an observer.
    mutating func remove(_ number: Int) {
        observers[number] = nil
    }

    /// Returns the observers to notify after a change of the queue.
    mutating func due(after queue: borrowing PermitQueue) -> [@Sendable () -> Void] {
        let hasChanged = queue.heldUp.changeCount > heldUpChangeCount
        heldUpChangeCount = queue.heldUp.changeCount
        let hasRoom = queue.hasRoom
        return observers.values.compactMap { subject, body in
            switch subject {
            case .heldUp: hasChanged ? body : nil
            case .freePermits: hasRoom ? body : nil
            }
        }
    }
}
