/// Identifies one call that waits for a disk.
struct DiskCallID: SerialIdentifier {
    let rawValue: Int
}

/// The volumes that take long to write to, so that no engine's thread should wait for them.
///
/// Bytes are written on the thread that delivers them, which is fastest, but blocks the other exchanges of that thread.
/// While a write takes long, and for some time after it, the bytes for that volume are copied and written on the queues
/// of their transfers.
final class SlowDisks: Sendable {
    private struct Volume {
        /// The start times of the calls in progress.
        var running = SerialTable<DiskCallID, Duration>()
        var slowUntil: Duration?
    }

    private struct State {
        var volumes: [UInt64: Volume] = [:]
        var calls = SerialNumbers<DiskCallID>()
    }

    /// The duration from which a write counts as slow.
    private static let longestWrite = Duration.milliseconds(100)
    /// The time for which a volume counts as slow after its last slow write.
    private static let memory = Duration.seconds(60)

    private let state = Mutex(State())

    /// Returns whether bytes for `volume` should not be written on an engine's thread; false for nil.
    func contains(_ volume: UInt64?, at now: Duration) -> Bool {
        guard let volume else { return false }
        return state.withLock { state in
            guard let known = state.volumes[volume] else { return false }
            if let end = known.slowUntil, now < end { return true }
            // The first one in progress has run for the longest time.
            return known.running.first.map { now - $0 >= Self.longestWrite } ?? false
        }
    }

    /// Runs `body`, which waits for the disk of `volume`, and records its duration.
    func measure<Value>(_ volume: UInt64?, _ time: any TimeSource, _ body: () -> Value) -> Value {
        guard let volume else { return body() }
        let (id, start) = state.withLock { state in
            let (id, start) = (state.calls.next(), time.now)
            state.volumes[volume, default: Volume()].running.append(start, id: id)
            return (id, start)
        }
        defer {
            let end = time.now
            state.withLock { state in
                state.volumes[volume]?.running.remove(id)
                if end - start >= Self.longestWrite { state.volumes[volume]?.slowUntil = end + Self.memory }
            }
        }
        return body()
    }
}
