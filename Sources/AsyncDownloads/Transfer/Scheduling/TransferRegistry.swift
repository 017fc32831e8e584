internal import Foundation

/// The running and paused transfers by key, where lookup and insertion are one critical section.
///
/// Locks are acquired in one order only: the registry's, then a transfer's, then the one of the reservations. No lock
/// is held while effects are performed.
final class TransferRegistry: Sendable {
    /// A request that has become a subscriber.
    struct Joined: Sendable {
        let transfer: Transfer
        let subscriber: SubscriberID
        /// Whether the transfer existed before.
        let isCoalesced: Bool
    }

    private struct State {
        var byKey: [TransferKey: Transfer] = [:]
        /// All transfers that have not finished.
        ///
        /// They include those that place their file while a newer transfer has their key.
        var live: [ObjectIdentifier: Transfer] = [:]
        var lastNumber = 0
        var isShutDown = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let destinations: DestinationReservations

    init(destinations: DestinationReservations) {
        self.destinations = destinations
    }

    /// Attaches a request to the transfer of its key, or to a new one, and reserves its destination.
    ///
    /// - Parameters:
    ///   - isRunning: Whether the subscriber wants the transfer to run. If not, it starts paused.
    ///   - make: Creates a transfer that has not started, with the number that it is passed.
    func join(
        _ key: TransferKey, _ request: DownloadRequest, _ terms: SubscriberTerms, policy: DuplicatePolicy,
        isRunning: Bool = true, make: (Int) -> Transfer
    ) -> Result<Joined, DownloadError> {
        var effects: [@Sendable () -> Void] = []
        let result: Result<Joined, DownloadError> = state.withLock { state in
            guard !state.isShutDown else { return .failure(DownloadError(.shutDown)) }
            let present = state.byKey[key].flatMap { $0.isJoinable ? $0 : nil }
            if present != nil, policy.kind == .reject { return .failure(DownloadError(.duplicate)) }
            var path: String?
            if case .file(let file) = request.destination {
                guard reserve(file.path, for: key, state, &effects) else {
                    return .failure(DownloadError(.destinationInUse, file.lastPathComponent))
                }
                path = file.path
            }
            if let present,
                let attachment = present.attach(
                    request, terms, reservedPath: path, isRunning: isRunning,
                    isSuperseding: policy.kind == .cancelExisting)
            {
                effects.append(attachment.performEffects)
                return .success(Joined(transfer: present, subscriber: attachment.id, isCoalesced: true))
            }
            state.lastNumber += 1
            let transfer = make(state.lastNumber)
            guard let attachment = transfer.attach(request, terms, reservedPath: path, isRunning: isRunning) else {
                preconditionFailure("a new transfer refused its first subscriber")
            }
            effects.append(attachment.performEffects)
            state.byKey[key] = transfer
            state.live[ObjectIdentifier(transfer)] = transfer
            return .success(Joined(transfer: transfer, subscriber: attachment.id, isCoalesced: false))
        }
        for effect in effects { effect() }
        return result
    }

    /// Reserves a path, if necessary by ending paused subscribers that no one can resume.
    private func reserve(
        _ path: String, for key: TransferKey, _ state: State, _ effects: inout [@Sendable () -> Void]
    ) -> Bool {
        guard let owner = destinations.reserve(path, for: key) else { return true }
        guard let effect = state.byKey[owner]?.evictUnreachable(from: path) else { return false }
        effects.append(effect)
        return destinations.reserve(path, for: key) == nil
    }

    /// Releases the key and the destinations of a transfer that no longer holds any resources.
    func free(_ transfer: Transfer) {
        state.withLock { state in
            if state.byKey[transfer.key] === transfer { state.byKey[transfer.key] = nil }
        }
        transfer.releasePaths()
    }

    /// Removes a transfer that has finished.
    func remove(_ transfer: Transfer) {
        let waiters = state.withLock { state in
            state.live[ObjectIdentifier(transfer)] = nil
            var waiters: [CheckedContinuation<Void, Never>] = []
            if state.live.isEmpty { swap(&waiters, &state.waiters) }
            return waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// All live transfers, in the order in which they were started.
    var transfers: [Transfer] { state.withLock { $0.live.values.sorted { $0.number < $1.number } } }

    /// Refuses all further requests.
    func close() {
        state.withLock { $0.isShutDown = true }
    }

    /// Waits until no transfer is live.
    func drained() async {
        await withCheckedContinuation { continuation in
            let isEmpty = state.withLock { state in
                if !state.live.isEmpty { state.waiters.append(continuation) }
                return state.live.isEmpty
            }
            if isEmpty { continuation.resume() }
        }
    }
}
