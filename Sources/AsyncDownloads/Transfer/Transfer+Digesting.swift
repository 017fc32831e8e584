/// Digests that are computed while the bytes still arrive, so that the end does not have to wait for them.
extension Transfer {
    /// Takes one turn on the store's queue, and another one as long as there is enough to do.
    func digestOnQueue() {
        onPartial { [self] partial in
            var (digests, wanted, available) = withState { state in
                (state.digests, state.wantedDigests, state.machine.bytes.intervals.prefixEnd)
            }
            digests.advance(wanted, available: available, in: partial)
            let isDue = update { [digests] state, _ in
                state.digests = digests
                return state.beginDigesting()
            }
            if isDue { digestOnQueue() }
        }
    }
}

extension Transfer.State {
    /// Whether a turn is due; it counts as begun then.
    mutating func beginDigesting() -> Bool {
        digests.begin(wantedDigests, available: machine.bytes.intervals.prefixEnd)
    }

    /// The algorithms whose digests the end will ask for, as far as is known now.
    var wantedDigests: Set<Checksum.Algorithm> {
        guard subscribers.isAnyUnchecked, let representation = machine.bytes.representation,
            let checksum = serverDigest(of: representation)
        else { return subscribers.algorithms }
        return subscribers.algorithms.union([checksum.algorithm])
    }

    /// The one of the server's digests that costs least to check (RFC 9530 leaves the choice to the recipient).
    func serverDigest(of representation: Representation) -> Checksum? {
        guard RunningDigest.isAvailable, let offered = representation.digests else { return nil }
        return offered.first { subscribers.algorithms.contains($0.algorithm) } ?? offered.first
    }
}
