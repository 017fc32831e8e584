/// Releases the memory of paused downloads under memory pressure, and reduces the number of connections.
///
/// Monitoring starts with the first pause or the first additional connection; before that, no memory can be released.
final class MemoryPressureResponder: Sendable {
    private enum State {
        case idle
        case watching(any MemoryPressureWatch)
        case ended
    }

    private let monitor: any MemoryPressureMonitor
    private let policy: MemoryPressurePolicy
    private let store: PartialStore
    private let registry: TransferRegistry
    private let log: Log
    private let whenChanged: @Sendable (MemoryPressure) -> Void
    private let state = Mutex(State.idle)

    init(
        monitor: any MemoryPressureMonitor, policy: MemoryPressurePolicy, store: PartialStore,
        registry: TransferRegistry, log: Log, whenChanged: @escaping @Sendable (MemoryPressure) -> Void
    ) {
        self.monitor = monitor
        self.policy = policy
        self.store = store
        self.registry = registry
        self.log = log
        self.whenChanged = whenChanged
    }

    deinit {
        end()
    }

    /// Starts monitoring memory pressure, unless it has already started or the policy is to ignore it.
    func start() {
        guard policy != .ignore, state.withLock({ if case .idle = $0 { true } else { false } }) else { return }
        let watch = monitor.watch { [weak self] level in self?.respond(level) }
        let surplus: (any MemoryPressureWatch)? = state.withLock { state in
            // Another thread may have started monitoring, or the responder may have ended.
            guard case .idle = state else { return watch }
            state = .watching(watch)
            return nil
        }
        surplus?.stop()
    }

    /// Stops monitoring memory pressure permanently.
    func end() {
        let watch: (any MemoryPressureWatch)? = state.withLock { state in
            defer { state = .ended }
            if case .watching(let watch) = state { return watch }
            return nil
        }
        watch?.stop()
    }

    private func respond(_ level: MemoryPressure) {
        whenChanged(level)
        guard level > .normal else { return }
        // After a shutdown, nothing is released.
        _ = try? registry.perform { () throws(DownloadError) in
            free(toDisk: level < .critical, discarding: policy == .discard, because: "memory pressure is \(level)")
        }
    }

    /// Releases memory immediately; this blocks on the disk, and is therefore an operation of the registry.
    ///
    /// - Returns: The number of bytes that were released from memory.
    func free(toDisk: Bool, discarding: Bool, because reason: String) -> Int {
        let released = store.bodies?.releaseAll(to: toDisk && !discarding ? store : nil) ?? []
        let transfers = registry.transfers
        if !released.isEmpty {
            // Queued transfers have not looked for bytes yet.
            let active = Dictionary(grouping: transfers.compactMap(\.activeTransfer)) {
                $0.locationOfBytes.sharingKey
            }
            for release in released {
                for transfer in active[release.key] ?? [] { transfer.emitReleased(release) }
            }
        }
        let ended = transfers.count { $0.releaseIfPaused(discarding: discarding) }
        let (count, kept) = released.reduce((0, 0)) { sums, release in
            (sums.0 + release.byteCount, sums.1 + (release.isOnDisk ? release.byteCount : 0))
        }
        log.notice("\(reason): \(count) bytes freed, \(kept) of them now on disk, \(ended) paused downloads ended")
        return count
    }
}
