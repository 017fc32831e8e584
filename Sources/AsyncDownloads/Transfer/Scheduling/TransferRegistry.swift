internal import Foundation

/// A registry of unfinished transfers by key.
///
/// Looking up a transfer and inserting a new one is one atomic step. The registry also counts operations that use the
/// downloader's files outside a transfer, so that a shutdown can wait until all files are closed.
///
/// Locks are acquired in one order only: the lock of the registry, of a slot, of an active transfer, and of the
/// reservations. No lock is held while effects are performed.
final class TransferRegistry: Sendable {
    /// A request that has become a subscriber.
    struct Joined: Sendable {
        let transfer: TransferSlot
        let subscriber: SubscriberID
        /// Whether the transfer already existed.
        let isCoalesced: Bool
    }

    private struct State {
        /// The transfers by key; some of them no longer accept requests, but have not freed their key yet.
        var byKey: [HashDigest: TransferSlot] = [:]
        /// The unfinished transfers, by number, whose key was freed or is used by a newer transfer.
        var finishing: [Int: TransferSlot] = [:]
        /// The transfers whose store operations wait until another transfer has finished, by the number of the other
        /// transfer.
        var successors: [Int: [TransferSlot]] = [:]
        var lastNumber = 0
        var isShutDown = false
        var waiters: [CheckedContinuation<Void, Never>] = []
        /// The number of operations in progress that ``drained()`` waits for in addition to the transfers.
        var operationCount = 0

        var isEmpty: Bool { byKey.isEmpty && finishing.isEmpty }
        var isDrained: Bool { isEmpty && operationCount == 0 }

        /// Returns the transfer of a key that no longer accepts requests and may still be using its files.
        func predecessor(of key: HashDigest) -> TransferSlot? {
            if let present = byKey[key] { return present }
            // A successor of the key may have been canceled while it was waiting.
            let waiting = successors.first { $0.value.contains { $0.keyDigest == key } }
            return waiting.flatMap { finishing[$0.key] }
        }

        /// Returns the number of a new transfer.
        mutating func nextNumber() -> Int {
            lastNumber += 1
            return lastNumber
        }

        /// Adds a new transfer, which uses its key from now on.
        mutating func add(_ transfer: TransferSlot) {
            let key = transfer.keyDigest
            if let predecessor = predecessor(of: key), predecessor.hasPartialFile(of: transfer) {
                // Otherwise, the new transfer would consider its partial file to be in use by another process. Its
                // queue is suspended before it can perform an operation.
                transfer.suspendOperations()
                successors[predecessor.number, default: []].append(transfer)
            }
            if let present = byKey[key] { free(present.number, of: key) }
            byKey[key] = transfer
        }

        /// Frees the key of a transfer that has not finished yet.
        mutating func free(_ number: Int, of key: HashDigest) {
            guard let transfer = byKey[key], transfer.number == number else { return }
            byKey[key] = nil
            finishing[number] = transfer
        }
    }

    private let state = Mutex(State())
    private let destinations: DestinationReservations

    init(destinations: DestinationReservations) {
        self.destinations = destinations
    }

    /// Attaches a request to the transfer of its key, or to a new one, and reserves its destination.
    ///
    /// - Parameters:
    ///   - isRunning: Whether the subscriber starts the transfer. If not, the subscriber starts paused.
    ///   - make: A closure that creates an unstarted transfer with the given number.
    func join(
        _ key: HashDigest, _ downloadID: DownloadID, _ request: DownloadRequest, _ policies: ResolvedPolicies,
        policy: DuplicatePolicy, isRunning: Bool = true, make: (Int) -> TransferSlot
    ) -> Result<Joined, DownloadError> {
        var effects: [@Sendable () -> Void] = []
        let result: Result<Joined, DownloadError> = state.withLock { state in
            guard !state.isShutDown else { return .failure(DownloadError(.shutDown)) }
            let present = state.byKey[key].flatMap { $0.isJoinable ? $0 : nil }
            if present != nil, policy.kind == .reject { return .failure(DownloadError(.duplicate)) }
            let path = request.destination.path
            if let path, !reserve(path, for: key, state, &effects) {
                return .failure(DownloadError(.destinationInUse, PartialNames.lastComponent(of: path)))
            }
            if let present,
                let attachment = present.attach(
                    downloadID, request, policies, reservedPath: path, isRunning: isRunning,
                    isSuperseding: policy.kind == .cancelExisting)
            {
                effects.append(attachment.performEffects)
                return .success(Joined(transfer: present, subscriber: attachment.id, isCoalesced: true))
            }
            let transfer = make(state.nextNumber())
            state.add(transfer)
            guard
                let attachment = transfer.attach(
                    downloadID, request, policies, reservedPath: path, isRunning: isRunning)
            else {
                preconditionFailure("a new transfer refused its first subscriber")
            }
            effects.append(attachment.performEffects)
            return .success(Joined(transfer: transfer, subscriber: attachment.id, isCoalesced: false))
        }
        for effect in effects { effect() }
        return result
    }

    /// Discards the bytes that a transfer has left, unless another transfer with its key exists.
    ///
    /// A new transfer performs this work, so that requests for the same resource wait for it. The transfer places no
    /// file, so it reserves no destination.
    func discardBytes(of ended: TransferSlot) {
        let transfer = state.withLock { state -> TransferSlot? in
            let present = state.byKey[ended.keyDigest]
            guard !state.isShutDown, present == nil || present === ended else { return nil }
            let transfer = TransferSlot(number: state.nextNumber(), after: ended)
            state.add(transfer)
            return transfer
        }
        // A request that has joined the transfer in the meantime continues from the bytes.
        _ = transfer?.activate().discard(after: nil)
    }

    /// Reserves a path, if necessary by ending paused subscribers that nothing can resume.
    private func reserve(
        _ path: String, for key: HashDigest, _ state: State, _ effects: inout [@Sendable () -> Void]
    ) -> Bool {
        guard let owner = destinations.reserve(path, for: key) else { return true }
        guard let effect = state.byKey[owner]?.evictUnreachable(from: path) else { return false }
        effects.append(effect)
        return destinations.reserve(path, for: key) == nil
    }

    /// Frees the key of the transfer with this number, which no longer uses any resources.
    func free(_ number: Int, of key: HashDigest) {
        state.withLock { $0.free(number, of: key) }
    }

    /// Removes the transfer with this number, which has finished and whose key is free.
    ///
    /// - Parameter removed: A closure that is called when the transfer is removed, before ``drained()`` returns.
    func remove(_ number: Int, _ removed: () -> Void) {
        let successors = state.withLock { state in
            state.finishing[number] = nil
            state.operationCount += 1
            return state.successors.removeValue(forKey: number) ?? []
        }
        for successor in successors { successor.resumeOperations() }
        removed()
        endOperation()
    }

    /// All transfers that have not finished, in the order in which they were started.
    var transfers: [TransferSlot] { transfers { _ in true } }

    /// Returns the transfers that have not finished and are accepted by `isIncluded`, in the order in which they were
    /// started.
    func transfers(where isIncluded: (TransferSlot) -> Bool) -> [TransferSlot] {
        // Filtering and sorting happen without the lock, because the number of transfers may be very large.
        state.withLock { Array($0.byKey.values) + $0.finishing.values }.filter(isIncluded)
            .sorted { $0.number < $1.number }
    }

    /// Whether every transfer has finished.
    var isEmpty: Bool { state.withLock(\.isEmpty) }

    /// Refuses all new requests and operations.
    func close() {
        state.withLock { $0.isShutDown = true }
    }

    /// Performs an operation that uses the downloader's files outside a transfer; ``drained()`` waits for its end.
    ///
    /// - Throws: The error of the operation, or ``DownloadError/Code/shutDown`` without performing it.
    func perform<Value>(_ operation: () throws(DownloadError) -> Value) throws(DownloadError) -> Value {
        let isRefused = state.withLock { state in
            if !state.isShutDown { state.operationCount += 1 }
            return state.isShutDown
        }
        if isRefused { throw DownloadError(.shutDown) }
        defer { endOperation() }
        return try operation()
    }

    /// Performs an operation like ``perform(_:)``, on a thread that may be blocked, because it may wait for a disk.
    func performBlocking<Value: Sendable>(
        _ operation: @escaping @Sendable () throws(DownloadError) -> Value
    ) async throws(DownloadError) -> Value {
        let result: Result<Value, DownloadError> = await withCheckedContinuation { continuation in
            BlockingThreads.run { [self] in
                continuation.resume(returning: Result { () throws(DownloadError) in try perform(operation) })
            }
        }
        return try result.get()
    }

    private func endOperation() {
        let waiters = state.withLock { state in
            state.operationCount -= 1
            var waiters: [CheckedContinuation<Void, Never>] = []
            if state.isDrained { swap(&waiters, &state.waiters) }
            return waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until every transfer has finished and every operation has ended.
    func drained() async {
        await withCheckedContinuation { continuation in
            let isDrained = state.withLock { state in
                if !state.isDrained { state.waiters.append(continuation) }
                return state.isDrained
            }
            if isDrained { continuation.resume() }
        }
    }
}
