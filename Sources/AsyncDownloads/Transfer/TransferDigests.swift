/// The digests that a transfer's file is to be checked by, computed beside the transfer.
///
/// A value without effects but for reading the partial. A turn is short, so that nothing else of the store's queue
/// waits for long; while one is under way or due, no other is begun.
struct TransferDigests: Sendable {
    /// The most bytes of one turn.
    private static let turnSize: Int64 = 16 << 20
    /// With less than this to do, a turn is not worth its way.
    private static let leastTurn: Int64 = 1 << 20

    private var running: [Checksum.Algorithm: RunningDigest] = [:]
    private var isUnderWay = false

    /// How many bytes every wanted digest has taken in.
    func position(of wanted: Set<Checksum.Algorithm>) -> Int64 {
        wanted.map { running[$0]?.position ?? 0 }.min() ?? 0
    }

    /// Whether to begin a turn, with `available` bytes there from the first on.
    mutating func begin(_ wanted: Set<Checksum.Algorithm>, available: Int64) -> Bool {
        guard !isUnderWay, !wanted.isEmpty, available - position(of: wanted) >= Self.leastTurn else { return false }
        isUnderWay = true
        return true
    }

    /// Does one turn; blocks on the disk.
    mutating func advance(_ wanted: Set<Checksum.Algorithm>, available: Int64, in partial: any Partial) {
        isUnderWay = false
        for algorithm in wanted {
            // What cannot be read now is read at the end, where a failure is reported.
            guard var digest = running[algorithm] ?? (try? RunningDigest(algorithm)) else { continue }
            try? digest.advance(to: min(available, digest.position + Self.turnSize), reading: partial.read)
            running[algorithm] = digest
        }
    }

    /// The digest of the whole file of `length` bytes, in lower-case hexadecimal digits; blocks on the disk.
    mutating func finish(
        _ algorithm: Checksum.Algorithm, length: Int64, reading read: RunningDigest.Reading
    ) throws(DownloadError) -> String {
        var digest: RunningDigest = if let begun = running[algorithm] { begun } else { try RunningDigest(algorithm) }
        try digest.advance(to: length, reading: read)
        running[algorithm] = digest
        return digest.hex
    }
}
