@testable import AsyncDownloads

extension PartialStore {
    /// Returns the store with a store of bodies in memory.
    func keeping(_ bodies: PartialBodyStore, spilledIn directory: String) -> Self {
        var store = self
        (store.bodies, store.spillDirectory) = (bodies, directory)
        return store
    }
}
