/// Identifies one call that waits for a disk.
struct DiskCallID: SerialIdentifier {
    let rawValue: Int
}

/// The volumes with slow writes, which should not block an engine's threads.
///
/// Bytes are normally written on the thread that delivers them. This is fastest, but blocks the other exchanges of that
/// thread. While a write is slow, and for some time after it, bytes for the same volume are copied and written on the
/// queues of their transfers.
final class SlowDisks: Sendable {
    private struct Volume {
        let number: UInt64
        /// The start times of the calls in progress.
        var running = SerialTable<DiskCallID, Duration>()
        var slowUntil: Duration?
    }

    private struct State {
        /// The volumes that have been written to.
        ///
        /// An array, because there are few volumes, and changing it in place allocates nothing.
        var volumes: [Volume] = []
        var calls = SerialNumbers<DiskCallID>()

        func index(of volume: UInt64) -> Int? { volumes.firstIndex { $0.number == volume } }

        mutating func addedIndex(of volume: UInt64) -> Int {
            if let index = index(of: volume) { return index }
            volumes.append(Volume(number: volume))
            return volumes.count - 1
        }

        /// Records the duration of a call.
        mutating func ended(_ index: Int, from start: Duration, to end: Duration) {
            if end - start >= SlowDisks.longestWrite { volumes[index].slowUntil = end + SlowDisks.memory }
        }

        /// Records the start of a call, and returns its identifier and the position of its volume.
        mutating func begin(_ volume: UInt64, at now: Duration) -> (id: DiskCallID, index: Int) {
            let (id, index) = (calls.next(), addedIndex(of: volume))
            volumes[index].running.insert(now, id: id)
            return (id, index)
        }
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
            guard let index = state.index(of: volume) else { return false }
            if let end = state.volumes[index].slowUntil, now < end { return true }
            // The first call in progress has run for the longest time.
            return state.volumes[index].running.first.map { now - $0 >= Self.longestWrite } ?? false
        }
    }

    /// Runs `body`, which waits for the disk of `volume`, and records its duration.
    func measure<Value>(_ volume: UInt64?, _ time: any TimeSource, _ body: () -> Value) -> Value {
        guard let volume else { return body() }
        let (call, start) = state.withLock { state in
            let now = time.now
            return (state.begin(volume, at: now), now)
        }
        defer {
            let end = time.now
            state.withLock { state in
                state.volumes[call.index].running.remove(call.id)
                state.ended(call.index, from: start, to: end)
            }
        }
        return body()
    }

    /// Records a call that has waited for the disk of `volume`.
    func record(_ volume: UInt64, from start: Duration, to end: Duration) {
        guard end - start >= Self.longestWrite else { return }
        state.withLock { state in state.ended(state.addedIndex(of: volume), from: start, to: end) }
    }
}
