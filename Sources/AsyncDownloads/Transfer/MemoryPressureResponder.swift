/// Frees what downloads that do not run hold in memory, when it is short.
///
/// It watches from the first pause on: before that there is nothing to free.
final class MemoryPressureResponder: Sendable {
    private enum State {
        case idle
        case watching(any MemoryPressureWatch)
        case ended
    }

    private let monitor: any MemoryPressureMonitor
    private let policy: MemoryPressurePolicy
    private let bodies: PartialBodyStore
    private let registry: TransferRegistry
    private let log: Log
    private let state = Mutex(State.idle)

    init(
        monitor: any MemoryPressureMonitor, policy: MemoryPressurePolicy, bodies: PartialBodyStore,
        registry: TransferRegistry, log: Log
    ) {
        self.monitor = monitor
        self.policy = policy
        self.bodies = bodies
        self.registry = registry
        self.log = log
    }

    deinit {
        end()
    }

    /// There is something that may be freed.
    func start() {
        guard policy != .ignore, state.withLock({ if case .idle = $0 { true } else { false } }) else { return }
        let watch = monitor.watch { [weak self] level in self?.respond(level) }
        let surplus: (any MemoryPressureWatch)? = state.withLock { state in
            // Another thread was quicker, or it is over.
            guard case .idle = state else { return watch }
            state = .watching(watch)
            return nil
        }
        surplus?.stop()
    }

    /// Watches no more.
    func end() {
        let watch: (any MemoryPressureWatch)? = state.withLock { state in
            defer { state = .ended }
            if case .watching(let watch) = state { return watch }
            return nil
        }
        watch?.stop()
    }

    private func respond(_ level: MemoryPressure) {
        guard level > .normal else { return }
        free(toDisk: level < .critical, discarding: policy == .discard, because: "memory pressure is \(level)")
    }

    /// Frees now; blocks on the disk.
    ///
    /// - Returns: How many bytes left memory.
    @discardableResult
    func free(toDisk: Bool, discarding: Bool, because reason: String) -> Int {
        let released = bodies.releaseAll(toDisk: toDisk && !discarding)
        let transfers = registry.transfers
        for release in released {
            for transfer in transfers where PartialBodyStore.Key(transfer.location) == release.key {
                transfer.emitReleased(release)
            }
        }
        let ended = transfers.count { $0.releaseIfPaused(discarding: discarding) }
        let (count, kept) = released.reduce((0, 0)) { sums, release in
            (sums.0 + release.byteCount, sums.1 + (release.isOnDisk ? release.byteCount : 0))
        }
        log.notice("\(reason): \(count) bytes freed, \(kept) of them now on disk, \(ended) paused downloads let go")
        return count
    }
}
