/// The decision of a queued transfer about one input, made under the lock of its slot.
///
/// Each function handles an input that may not need the state machine. If the input needs it, the function returns nil,
/// and the decision is discarded with its changes and effects.
struct QueuedDecision {
    /// The transfer after the input.
    private(set) var transfer: QueuedTransfer
    /// The effects to perform after the lock is released.
    private(set) var effects: [DeferredEffect] = []
    private let slot: TransferSlot
    private var environment: TransferEnvironment { slot.environment }

    init(_ transfer: QueuedTransfer, in slot: TransferSlot) {
        self.transfer = transfer
        self.slot = slot
    }

    /// Attaches the first subscriber, which waits for a permit.
    mutating func attach() -> SubscriberID? {
        guard !transfer.isAttached else { return nil }
        requestPermit()
        return .first
    }

    /// Handles the grant or the refusal of a permit, which needs the state machine.
    func permitAnswered(_ ticket: PermitQueue.Ticket) -> Void? {
        // The transfer may have been paused or ended at the same time as the grant.
        transfer.ticket == ticket ? nil : ()
    }

    /// Pauses the subscriber.
    mutating func pause() -> Void? {
        guard let ticket = transfer.ticket else { return transfer.isAttached ? () : nil }
        guard transfer.pause() else { return nil }
        release(ticket)
        return ()
    }

    /// Resumes the subscriber.
    mutating func resume() -> Void? {
        guard transfer.isAttached else { return nil }
        if transfer.isPaused { requestPermit() }
        return ()
    }

    /// Ends the subscriber, and with it the transfer, with an error of this code.
    mutating func end(_ code: DownloadError.Code) -> Void? {
        guard let ending = QueuedTransfer.Ending(code), transfer.isAttached else { return nil }
        end(ending)
        return ()
    }

    /// Ends the subscriber if it is paused and nothing can resume it.
    ///
    /// - Parameter discarding: Whether to delete the bytes on disk.
    /// - Returns: Whether the subscriber was ended.
    mutating func releaseIfUnreachable(discarding: Bool = false) -> Bool? {
        guard transfer.isPaused else { return false }
        // Only the state machine removes bytes that an earlier process has left.
        if discarding { return nil }
        guard !transfer.isReachable else { return false }
        end(.canceled)
        return true
    }

    private mutating func requestPermit() {
        let (request, scheduler) = (slot.request, environment.scheduler)
        let retryLimit = (request.retryPolicy ?? environment.configuration.retryPolicy).maximumRetries
        transfer.wait { place in
            scheduler.request(
                OriginPair(request.url), request.url, priority: request.priority, place: place, retryLimit: retryLimit,
                for: slot)
        }
        effects.append(scheduler.deliveryOfGrants)
    }

    private mutating func release(_ ticket: PermitQueue.Ticket) {
        environment.scheduler.release(ticket)
        effects.append(environment.scheduler.deliveryOfGrants)
    }

    private mutating func end(_ ending: QueuedTransfer.Ending) {
        guard transfer.ending == nil else { return }
        let (number, key, environment) = (slot.number, slot.keyDigest, environment)
        if let ticket = transfer.ticket { release(ticket) }
        if let path = slot.request.destination.path {
            environment.destinations.release(path, for: key, wasClosing: false)
        }
        let waiter = transfer.end(ending)
        let error = ending.error(of: slot.request)
        effects.append(
            DeferredEffect {
                environment.registry.free(number, of: key)
                waiter?.resume(.failure(error))
                environment.transferFinished(number)
            })
    }
}

// MARK: - Handles and consumers

extension QueuedDecision {
    /// Adds a handle to the subscriber if it has no outcome and `isIncluded` accepts its request.
    mutating func addHandles(where isIncluded: (DownloadID, DownloadRequest) -> Bool) -> [AddedHandle]? {
        guard transfer.isAttached, transfer.ending == nil, isIncluded(slot.downloadID, slot.request) else { return [] }
        transfer.addHandle()
        return [AddedHandle(id: slot.downloadID, subscriber: .first, request: slot.request, isCoalesced: false)]
    }

    /// Records that a handle was released.
    mutating func handleReleased() -> Void? { transfer.releaseHandle() }

    /// Creates the identifier of a consumer that awaits the outcome.
    mutating func newWaiter() -> WaiterID? { transfer.newWaiter() }

    /// Adds a consumer that awaits the outcome.
    mutating func wait(_ waiter: QueuedTransfer.Waiter) -> WaitAnswer? {
        // This check is made under the lock, so a later cancellation finds the consumer. The state machine handles an
        // earlier cancellation.
        guard transfer.isAttached, !Task.isCancelled else { return nil }
        if let ending = transfer.ending { return .now(.failure(ending.error(of: slot.request))) }
        return transfer.add(waiter) ? .later : nil
    }

    /// Removes the consumer whose task was canceled, and ends the subscriber, which has no other consumer.
    mutating func cancelWait(_ id: WaiterID) -> Void? {
        // The consumer may have received the outcome already, or may not have been added yet.
        guard let waiter = transfer.remove(id) else { return () }
        guard environment.abandonment == .pause else { return nil }
        end(.canceled)
        let error = QueuedTransfer.Ending.canceled.error(of: slot.request)
        effects.append(DeferredEffect { waiter.resume(.failure(error)) })
        return ()
    }
}
