/// The permit of a transfer, or its request for a permit, as known to the scheduler.
struct TransferPermit: Sendable {
    private struct Request: Sendable {
        let ticket: PermitQueue.Ticket
        /// The identifier that the state machine has assigned to the request.
        var id: PermitRequestID
        /// The priority and the number of permitted retries that were last passed to the scheduler.
        var priority: DownloadRequest.Priority
        var retryLimit: Int
    }

    /// The request, which remains after it was granted; nil without a permit or a request for one.
    private var request: Request?
    /// The first ticket, whose place in line all later ones keep.
    private(set) var place: PermitQueue.Ticket?

    /// - Parameter place: The first ticket of the transfer, if it has already requested a permit.
    init(place: PermitQueue.Ticket? = nil) {
        self.place = place
    }

    /// The ticket of the permit, or of the request for one.
    var ticket: PermitQueue.Ticket? { request?.ticket }

    /// Returns the identifier of the request with this ticket; nil if it was released or withdrawn.
    func id(of ticket: PermitQueue.Ticket) -> PermitRequestID? {
        request.flatMap { $0.ticket == ticket ? $0.id : nil }
    }

    /// Records a request for a permit.
    mutating func requested(
        _ ticket: PermitQueue.Ticket, as id: PermitRequestID, priority: DownloadRequest.Priority, retryLimit: Int = 0
    ) {
        request = Request(ticket: ticket, id: id, priority: priority, retryLimit: retryLimit)
        if place == nil { place = ticket }
    }

    /// Records that the permit was moved to another host by the request with this identifier.
    mutating func moved(as id: PermitRequestID) {
        request?.id = id
    }

    /// Records a priority and a number of permitted retries, and returns the ticket if the scheduler has to change
    /// them.
    mutating func setPriority(_ priority: DownloadRequest.Priority, retryLimit: Int = 0) -> PermitQueue.Ticket? {
        guard let request, request.priority != priority || request.retryLimit != retryLimit else { return nil }
        self.request?.priority = priority
        self.request?.retryLimit = retryLimit
        return request.ticket
    }

    /// Records that the permit or the request for it has ended, and returns its ticket; nil if neither existed.
    @discardableResult
    mutating func take() -> PermitQueue.Ticket? {
        defer { request = nil }
        return ticket
    }
}

/// A receiver of granted permits.
protocol PermitReceiver: AnyObject, Sendable {
    /// Handles the grant of a permit.
    ///
    /// This method is called once for each granted ticket, on any thread, and without a lock. It may be called after
    /// the ticket was released or moved by another thread.
    func permitGranted(_ ticket: PermitQueue.Ticket)

    /// Handles that a permit is refused, because the origin can't be reached, or has served no request for too long.
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
