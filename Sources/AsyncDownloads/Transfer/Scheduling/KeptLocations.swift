/// The locations at which transfers of this process left bytes on disk, so that a request of the same resource with
/// another destination continues from them.
///
/// A location depends on the destination. Without this record, a request into memory would not find the bytes of a
/// canceled file, nor a request for another file.
final class KeptLocations: Sendable {
    private struct State {
        var locations: [PartialBodyStore.Key: PartialLocation] = [:]
        /// The keys of ``locations``, oldest first, with keys of former entries.
        var order: [PartialBodyStore.Key] = []
    }

    private static let capacity = 10_000

    private let state = Mutex(State())

    /// Records that bytes are at `location`.
    func insert(_ location: PartialLocation) {
        let key = PartialBodyStore.Key(location)
        state.withLock { state in
            state.locations[key] = location
            state.order.append(key)
            guard state.order.count > 2 * Self.capacity else { return }
            for key in state.order.prefix(Self.capacity) { state.locations[key] = nil }
            state.order.removeFirst(Self.capacity)
        }
    }

    /// Removes and returns the location of bytes of the same resource.
    func take(_ location: PartialLocation) -> PartialLocation? {
        state.withLock { state in
            state.locations.isEmpty ? nil : state.locations.removeValue(forKey: PartialBodyStore.Key(location))
        }
    }
}
