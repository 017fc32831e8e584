/// The removal of the bytes of an ended download.
extension TransferSlot {
    /// Discards the bytes of a subscriber that has ended without a file, unless other downloads may need them.
    func discardBytes(after id: SubscriberID) {
        guard status(of: id).state != .completed, activeTransfer?.discard(after: id) != true, !isPartialFileShared
        else { return }
        environment.registry.discardBytes(of: self)
    }

    /// Whether another transfer with subscribers has the same partial file: the file's name doesn't depend on secret
    /// headers, so a transfer with other secret headers may share it.
    private var isPartialFileShared: Bool {
        let (identity, url) = (request.identity, ByteText(TransferKey.url(of: request.url)))
        // Transfers are filtered first, because determining all file names would take long for a large number of
        // transfers.
        let others = environment.registry.transfers { other in
            guard other !== self, other.request.identity == identity else { return false }
            return identity != nil || ByteText(TransferKey.url(of: other.request.url)) == url
        }
        let names = environment.store.names(of: location)
        return others.contains { !$0.activeSubscribers.isEmpty && environment.store.names(of: $0.location) == names }
    }
}

extension ActiveTransfer {
    /// Discards the bytes of a transfer without subscribers, unless the transfer has ended.
    ///
    /// - Parameter id: A subscriber that has its outcome; nil for a new transfer without subscribers. A transfer that
    ///   continues without subscribers does so on behalf of the subscriber that was detached last.
    /// - Returns: Whether the transfer has not ended.
    func discard(after id: SubscriberID?) -> Bool {
        let now = environment.time.now
        return update { state, decision in
            guard state.machine.phase != .ended else { return false }
            let continues = state.machine.intent == .run && state.subscribers.lastDetached?.id != id
            if state.subscribers.isEmpty, !continues {
                decision.actions += state.machine.stop(.discard, at: now)
            }
            return true
        }
    }
}
