/// Digests that are computed while bytes are received, which saves time at the end.
extension ActiveTransfer {
    /// Performs one turn on the store's queue, and additional turns while enough bytes are available.
    func digestOnQueue() {
        onPartial { [self] partial in
            var (digests, wanted, available) = withState { state in
                (state.storage.digests, state.wantedDigests, state.machine.bytes.intervals.prefixEnd)
            }
            digests.advance(wanted, available: available, in: partial)
            let isDue = update { [digests] state, _ in
                state.storage.digested(digests)
                return state.beginDigesting()
            }
            if isDue { digestOnQueue() }
        }
    }
}

extension ActiveTransfer.State {
    /// Returns whether a turn is due; if so, counts it as started.
    mutating func beginDigesting() -> Bool {
        let wanted = wantedDigests
        return !wanted.isEmpty && storage.beginDigesting(wanted, available: machine.bytes.intervals.prefixEnd)
    }

    /// The algorithms whose digests will be needed at the end, as far as known.
    var wantedDigests: Set<Checksum.Algorithm> {
        guard subscribers.isAnyUnchecked, let representation = machine.bytes.representation,
            let checksum = serverDigest(of: representation)
        else { return subscribers.algorithms }
        return subscribers.algorithms.union([checksum.algorithm])
    }
}
