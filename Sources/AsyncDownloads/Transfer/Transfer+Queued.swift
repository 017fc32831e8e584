/// The inputs that a queued transfer handles without a state machine.
///
/// Each function returns nil or false if the transfer is active, or if the input needs the state machine.
extension Transfer {
    /// Attaches the first subscriber, which waits for a permit.
    func attachToQueue() -> Attachment? {
        decideQueued { queued, effects in
            guard !queued.isAttached else { return nil }
            requestPermit(&queued, &effects)
            return SubscriberID.first
        }.map { id, effects in
            Attachment(id: id) { for effect in effects { effect() } }
        }
    }

    /// Pauses the subscriber.
    func pauseInQueue() -> Bool {
        updateQueued { queued, effects -> Bool? in
            guard let ticket = queued.ticket else { return queued.isAttached ? true : nil }
            guard queued.pause() else { return nil }
            environment.scheduler.release(ticket)
            effects.append(deliveryOfGrants)
            return true
        } ?? false
    }

    /// Resumes the subscriber.
    func resumeInQueue() -> Bool {
        updateQueued { queued, effects -> Bool? in
            guard queued.isAttached else { return nil }
            if queued.isPaused { requestPermit(&queued, &effects) }
            return true
        } ?? false
    }

    /// Ends the subscriber, and with it the transfer, with an error of this code.
    func endInQueue(_ code: DownloadError.Code) -> Bool {
        updateQueued { queued, effects in
            guard let ending = QueuedTransfer.Ending(code), queued.isAttached else { return nil }
            end(&queued, ending, &effects)
            return true
        } ?? false
    }

    /// Ends the subscriber if it is paused and no one can resume it; see ``releaseIfPaused(discarding:)``.
    func releaseInQueue(discarding: Bool) -> Bool? {
        updateQueued { queued, effects in
            guard queued.isPaused, !queued.isReachable else { return false }
            // The bytes of an earlier process are removed by the state machine.
            if discarding { return nil }
            end(&queued, .canceled, &effects)
            return true
        }
    }

    /// Ends the subscriber if no one can resume it; see ``evictUnreachable(from:)``.
    ///
    /// - Returns: Nil if the transfer is active, otherwise the effects to perform; there are none if the path is still
    ///   in use.
    func evictFromQueue() -> [DeferredEffect]? {
        decideQueued { queued, effects -> Bool? in
            if queued.isPaused, !queued.isReachable { end(&queued, .canceled, &effects) }
            return true
        }?.1
    }

    private func requestPermit(_ queued: inout QueuedTransfer, _ effects: inout [DeferredEffect]) {
        queued.wait { place in
            environment.scheduler.request(
                host: RedirectChain.host(of: request.url), priority: request.priority, place: place, for: self)
        }
        effects.append(deliveryOfGrants)
    }

    private func end(
        _ queued: inout QueuedTransfer, _ ending: QueuedTransfer.Ending, _ effects: inout [DeferredEffect]
    ) {
        guard queued.ending == nil else { return }
        if let ticket = queued.ticket {
            environment.scheduler.release(ticket)
            effects.append(deliveryOfGrants)
        }
        if let path = request.destination.path { environment.destinations.release(path, for: key, wasClosing: false) }
        let waiter = queued.end(ending)
        let error = ending.error(of: request)
        effects.append(
            DeferredEffect { [self] in
                environment.registry.free(number, of: key)
                waiter?.resume(.failure(error))
                finished()
            })
    }
}

// MARK: - Consumers

extension Transfer {
    /// Adds a consumer that awaits the outcome.
    func waitInQueue(_ waiter: QueuedTransfer.Waiter) -> WaitAnswer? {
        updateQueued { queued, _ in
            // Checked under the lock: a cancellation after this check finds the consumer. The state machine decides
            // about one before it.
            guard queued.isAttached, !Task.isCancelled else { return nil }
            if let ending = queued.ending { return .now(.failure(ending.error(of: request))) }
            return queued.add(waiter) ? .later : nil
        }
    }

    /// Removes a consumer whose task was canceled, which was the only one, and ends the subscriber.
    func cancelWaitInQueue(_ id: WaiterID) -> Bool {
        updateQueued { queued, effects -> Bool? in
            // The race of the cancellation with the outcome, or with the call that adds the consumer.
            guard let waiter = queued.remove(id) else { return true }
            guard environment.abandonment == .pause else { return nil }
            end(&queued, .canceled, &effects)
            let error = QueuedTransfer.Ending.canceled.error(of: request)
            effects.append(DeferredEffect { waiter.resume(.failure(error)) })
            return true
        } ?? false
    }
}
