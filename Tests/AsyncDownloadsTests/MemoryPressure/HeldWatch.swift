@testable import AsyncDownloads

/// A container for a watch, which an observer can stop even before the watch is stored.
final class HeldWatch: Sendable {
    private struct State: Sendable {
        var watch: (any MemoryPressureWatch)?
        var isStopped = false
    }

    private let state = Mutex(State())

    func hold(_ watch: any MemoryPressureWatch) {
        let isStopped = state.withLock { state in
            state.watch = watch
            return state.isStopped
        }
        if isStopped { watch.stop() }
    }

    func stop() {
        let watch = state.withLock { state in
            state.isStopped = true
            return state.watch
        }
        watch?.stop()
    }
}
