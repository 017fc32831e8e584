/// A receiver of granted permits.
protocol PermitReceiver: AnyObject, Sendable {
    /// Handles the grant of a permit.
    ///
    /// This method is called once for each granted ticket, on any thread, and without a lock. It may be called after
    /// the ticket was released or moved by another thread.
    func permitGranted(_ ticket: PermitQueue.Ticket)

    /// Handles that a permit is refused, because no connection with the origin can be established.
    ///
    /// The conditions of ``permitGranted(_:)`` apply.
    func permitRefused(_ ticket: PermitQueue.Ticket, _ error: DownloadError)

    /// Handles that the origin of a waiting request can't be reached, or asks to wait.
    ///
    /// The conditions of ``permitGranted(_:)`` apply.
    func originHindered(_ ticket: PermitQueue.Ticket)
}

/// An array of receivers, indexed by slot.
///
/// The array keeps its size while the queue has requests, because the slots of a few running transfers may be the last
/// ones of a large queue that has drained.
struct PermitReceivers {
    private var receivers: [(any PermitReceiver)?] = []

    subscript(slot: Int32) -> (any PermitReceiver)? {
        get { receivers.indices.contains(Int(slot)) ? receivers[Int(slot)] : nil }
        set {
            while receivers.count <= slot { receivers.append(nil) }
            receivers[Int(slot)] = newValue
        }
    }
}
