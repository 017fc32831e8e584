internal import Foundation

/// The running and paused transfers, by what they fetch: looking up and adding is one critical section.
///
/// Locks are taken in one order only, the registry's before a transfer's or the ledger's, and none is held when anything
/// is carried out.
final class TransferRegistry: Sendable {
    private struct State {
        var byKey: [TransferKey: Transfer] = [:]
        /// Also those that still put their file in place while a newer transfer has taken over their key.
        var live: [ObjectIdentifier: Transfer] = [:]
        var isShutDown = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let destinations: DestinationLedger

    init(destinations: DestinationLedger) {
        self.destinations = destinations
    }

    /// Joins the transfer of `key`, or the one that `make` creates, and takes the destination that the request names.
    func join(
        _ key: TransferKey, _ request: DownloadRequest, policy: DuplicatePolicy, running: Bool = true,
        make: () -> Transfer
    ) -> Result<(transfer: Transfer, caller: Int, isCoalesced: Bool), DownloadError> {
        let result: Result<(Transfer, Transfer.Attachment, Bool), DownloadError> = state.withLock { state in
            guard !state.isShutDown else { return .failure(DownloadError(.shutDown)) }
            if case .file(let file) = request.destination, !destinations.take(file.path, for: key) {
                return .failure(DownloadError(.destinationInUse, file.lastPathComponent))
            }
            if let running = state.byKey[key] {
                let superseding = policy.kind == .cancelExisting
                if policy.kind == .reject, running.withState({ $0.machine.isJoinable }) {
                    return .failure(DownloadError(.duplicate))
                }
                if let attachment = running.attach(request, superseding: superseding) {
                    return .success((running, attachment, true))
                }
            }
            let transfer = make()
            guard let attachment = transfer.attach(request, running: running) else {
                preconditionFailure("a new transfer refused its first caller")
            }
            state.byKey[key] = transfer
            state.live[ObjectIdentifier(transfer)] = transfer
            return .success((transfer, attachment, false))
        }
        return result.map { transfer, attachment, isCoalesced in
            attachment.settle()
            return (transfer, attachment.number, isCoalesced)
        }
    }

    /// Frees the key and the destinations of a transfer of which nothing is open any more, unless a newer one has them.
    func free(_ transfer: Transfer) {
        state.withLock { state in
            if state.byKey[transfer.key] === transfer { state.byKey[transfer.key] = nil }
            if state.byKey[transfer.key] == nil { destinations.release(transfer.key) }
        }
    }

    /// Forgets a transfer that is over.
    func remove(_ transfer: Transfer) {
        let waiters = state.withLock { state in
            state.live[ObjectIdentifier(transfer)] = nil
            var waiters: [CheckedContinuation<Void, Never>] = []
            if state.live.isEmpty { swap(&waiters, &state.waiters) }
            return waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Every live transfer.
    var transfers: [Transfer] { state.withLock { Array($0.live.values) } }

    /// Refuses whoever comes from now on.
    func close() {
        state.withLock { $0.isShutDown = true }
    }

    /// Waits until nothing is live.
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
