/// The locations of partial files that transfers of this process have left.
///
/// A request for the same resource with another destination continues from these bytes. A location depends on the
/// destination. Without this record, a request with another destination, such as memory, would not find the bytes of a
/// canceled download.
final class KeptLocations: Sendable {
    private struct State {
        var locations: [SharingKey: PartialLocation] = [:]
        /// The keys of ``locations``, in the order in which they were last recorded.
        var order = Heap<SharingKey, UInt64>()
        var lastNumber: UInt64 = 0
    }

    private static let capacity = 10_000

    private let state = Mutex(State())

    /// Records that bytes are at `location`.
    ///
    /// A body in memory, or one that was moved from memory to disk, needs no record.
    func insert(_ location: PartialLocation?) {
        guard let location, !location.isSpilled else { return }
        let key = location.sharingKey
        state.withLock { state in
            state.lastNumber += 1
            state.locations[key] = location.onDisk
            state.order[key] = state.lastNumber
            guard state.locations.count > Self.capacity, let oldest = state.order.first?.key else { return }
            (state.locations[oldest], state.order[oldest]) = (nil, nil)
        }
    }

    /// Removes and returns the location of bytes of the same resource.
    func take(_ location: PartialLocation) -> PartialLocation? {
        state.withLock { state in
            guard !state.locations.isEmpty else { return nil }
            let key = location.sharingKey
            state.order[key] = nil
            return state.locations.removeValue(forKey: key)
        }
    }
}
