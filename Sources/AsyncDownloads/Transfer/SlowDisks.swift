/// The volumes whose disk has lately taken long to write, so that no engine's thread should wait for it.
///
/// Bytes are written on the thread that delivers them, which is fastest; but other exchanges of that thread stand still
/// meanwhile. After a slow write the bytes for that volume are copied and written on the queue of their transfer.
final class SlowDisks: Sendable {
    /// How long a write may take on an engine's thread.
    private static let longestWrite = Duration.milliseconds(100)
    /// For how long a volume counts as slow after its last slow write.
    private static let memory = Duration.seconds(60)

    private let slowUntil = Mutex<[UInt64: Duration]>([:])

    /// Whether bytes for `volume` should not be written on an engine's thread; false for nil.
    func contains(_ volume: UInt64?, at now: Duration) -> Bool {
        guard let volume else { return false }
        return slowUntil.withLock { slowUntil in
            guard let end = slowUntil[volume] else { return false }
            if now < end { return true }
            slowUntil[volume] = nil
            return false
        }
    }

    /// Takes note of how long a call of the disk took that ended at `end`.
    func took(from start: Duration, to end: Duration, on volume: UInt64?) {
        guard let volume, end - start >= Self.longestWrite else { return }
        slowUntil.withLock { $0[volume] = end + Self.memory }
    }
}
