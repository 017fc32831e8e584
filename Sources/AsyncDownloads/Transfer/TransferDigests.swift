/// The digests of a transfer's file, computed while the bytes arrive.
///
/// The only effect is reading the partial file. Turns are short, so that other work on the transfer's queue isn't
/// delayed for long. While a turn is running or due, no other turn is started.
struct TransferDigests: Sendable {
    /// The maximum number of bytes in one turn.
    private static let turnSize: Int64 = 16 << 20
    /// The minimum number of bytes for which a turn is worthwhile.
    private static let leastTurn: Int64 = 1 << 20

    private var running: [Checksum.Algorithm: RunningDigest] = [:]
    private var isUnderWay = false

    /// Returns the number of bytes that every wanted digest includes.
    func position(of wanted: Set<Checksum.Algorithm>) -> Int64 {
        wanted.map { running[$0]?.position ?? 0 }.min() ?? 0
    }

    /// Returns whether to start a turn when the first `available` bytes are on disk.
    mutating func begin(_ wanted: Set<Checksum.Algorithm>, available: Int64) -> Bool {
        guard !isUnderWay, !wanted.isEmpty, available - position(of: wanted) >= Self.leastTurn else { return false }
        isUnderWay = true
        return true
    }

    /// Performs one turn; blocks on the disk.
    mutating func advance(_ wanted: Set<Checksum.Algorithm>, available: Int64, in partial: PartialFile) {
        isUnderWay = false
        for algorithm in wanted {
            // Bytes that can't be read now are read at the end, when a failure is reported.
            guard var digest = running[algorithm] ?? (try? RunningDigest(algorithm)) else { continue }
            try? digest.advance(to: min(available, digest.position + Self.turnSize), reading: partial.read)
            running[algorithm] = digest
        }
    }

    /// Returns the digest of the whole file in lower-case hexadecimal digits; blocks on the disk.
    mutating func finish(
        _ algorithm: Checksum.Algorithm, length: Int64, reading read: RunningDigest.Reading
    ) throws(DownloadError) -> String {
        var digest: RunningDigest = if let begun = running[algorithm] { begun } else { try RunningDigest(algorithm) }
        try digest.advance(to: length, reading: read)
        running[algorithm] = digest
        return digest.hex
    }
}

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
