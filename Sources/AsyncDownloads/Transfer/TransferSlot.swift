internal import Dispatch

/// One transfer, to which the registry, the scheduler, and the subscribers' handles refer in every stage.
///
/// A transfer fetches one resource once, on behalf of any number of subscribers. While it waits for its first permit,
/// it consists only of a ``QueuedTransfer``. When an input needs more than that, it becomes an ``ActiveTransfer``
/// permanently.
///
/// Each input is passed to the present stage. A queued transfer decides under the slot's lock, and the effects are
/// performed after the lock is released. An active transfer has its own lock, and receives the input after the slot's
/// lock is released. The engine, the clock, and the store refer to the active transfer directly. An active transfer
/// doesn't refer to its slot.
final class TransferSlot: Sendable {
    /// The stage of a transfer.
    enum Stage: Sendable {
        /// The transfer is waiting for its first permit, and has no state machine. Continues with `active`.
        case queued(QueuedTransfer)
        /// The transfer has a state machine. This stage is final.
        case active(ActiveTransfer)
    }

    /// The number of the transfer, in the order in which the downloader started its transfers.
    let number: Int
    /// The digest of the ``TransferKey``.
    let keyDigest: HashDigest
    /// The identifier of the first subscriber's download.
    let downloadID: DownloadID
    /// The request of the first subscriber, which determines the resource.
    let request: DownloadRequest
    let environment: TransferEnvironment
    private let stage = Mutex(Stage.queued(QueuedTransfer()))

    /// Creates a transfer that has not started.
    ///
    /// - Parameter unfinished: The bytes that are known to be on disk, if any; the transfer then starts as paused.
    init(
        number: Int, keyDigest: HashDigest, downloadID: DownloadID, request: DownloadRequest,
        environment: TransferEnvironment,
        continuing unfinished: UnfinishedPartial? = nil
    ) {
        self.number = number
        self.keyDigest = keyDigest
        self.downloadID = downloadID
        self.request = request
        self.environment = environment
        guard let unfinished else { return }
        let active = ActiveTransfer(self, at: unfinished.location) { $0.machine.restore(unfinished) }
        stage.withLock { $0 = .active(active) }
    }

    /// Creates an unstarted transfer at the location where an ended transfer has left its bytes.
    convenience init(number: Int, after ended: TransferSlot) {
        self.init(
            number: number, keyDigest: ended.keyDigest, downloadID: ended.downloadID, request: ended.request,
            environment: ended.environment)
        guard let storage = ended.activeTransfer?.withState({ TransferStorage(after: $0.storage) }) else { return }
        let active = ActiveTransfer(self) { $0.storage = storage }
        stage.withLock { $0 = .active(active) }
    }

    /// The present stage, for queries; the stage may have changed when the caller uses the value.
    var currentStage: Stage { stage.withLock { $0 } }

    /// The active transfer; nil in an earlier stage.
    var activeTransfer: ActiveTransfer? { query(queued: { _ in nil }, active: { $0 }) }

    /// Returns the active transfer, creating it if the transfer is still queued.
    func activate() -> ActiveTransfer { stage.withLock { active(&$0) } }

    private func active(_ stage: inout Stage) -> ActiveTransfer {
        switch stage {
        case .queued(let queued):
            let active = ActiveTransfer(self) { queued.replay(in: &$0, for: downloadID, request, environment) }
            stage = .active(active)
            return active
        case .active(let active):
            return active
        }
    }

    /// The result of passing an input to the present stage.
    private enum Route<Value: Sendable>: Sendable {
        /// The stage has decided; the effects are to be performed.
        case decided(Value, [DeferredEffect])
        /// The active transfer is to receive the input.
        case forwarded(ActiveTransfer)
    }

    /// Lets the present stage decide about an input, unless the active transfer has to decide.
    ///
    /// - Parameter decide: A closure that decides for a queued transfer, or returns nil if the input needs the state
    ///   machine.
    private func route<Value: Sendable>(_ decide: (inout QueuedDecision) -> Value?) -> Route<Value> {
        stage.withLock { stage in
            switch stage {
            case .queued(let queued):
                var decision = QueuedDecision(queued, in: self)
                guard let value = decide(&decision) else { return .forwarded(active(&stage)) }
                stage = .queued(decision.transfer)
                return .decided(value, decision.effects)
            case .active(let active):
                return .forwarded(active)
            }
        }
    }

    /// Handles an input in the present stage, and performs the effects.
    func input<Value: Sendable>(
        queued decide: (inout QueuedDecision) -> Value?, active forward: (ActiveTransfer) -> Value
    ) -> Value {
        switch route(decide) {
        case .decided(let value, let effects):
            for effect in effects { effect() }
            return value
        case .forwarded(let active):
            return forward(active)
        }
    }

    /// Answers a query in the present stage.
    func query<Value>(queued: (QueuedTransfer) -> Value, active: (ActiveTransfer) -> Value) -> Value {
        switch currentStage {
        case .queued(let transfer): queued(transfer)
        case .active(let transfer): active(transfer)
        }
    }
}

// MARK: - The registry

extension TransferSlot {
    /// Attaches a subscriber, or returns nil if the transfer can no longer serve a new one.
    ///
    /// This method is called under the registry's lock; `performEffects` of the result must be called after the lock is
    /// released.
    ///
    /// - Parameters:
    ///   - reservedPath: The path that was reserved for the subscriber's file. The transfer is now responsible for
    ///     releasing it.
    ///   - isRunning: Whether the subscriber wants the transfer to run. If not, it starts paused.
    ///   - isSuperseding: Whether earlier subscribers end with ``DownloadError/Code/superseded``.
    func attach(
        _ downloadID: DownloadID, _ request: DownloadRequest, _ policies: ResolvedPolicies,
        reservedPath: String? = nil, isRunning: Bool = true, isSuperseding: Bool = false
    ) -> Attachment? {
        switch route({ isRunning && policies.deadline == nil ? $0.attach() : nil }) {
        case .decided(let id, let effects):
            return Attachment(id: id) { for effect in effects { effect() } }
        case .forwarded(let active):
            return active.attach(
                downloadID, request, policies, reservedPath: reservedPath, isRunning: isRunning,
                isSuperseding: isSuperseding)
        }
    }

    /// Whether a new subscriber can still receive this transfer's file.
    var isJoinable: Bool { query(queued: { $0.ending == nil }, active: \.isJoinable) }

    /// Returns whether the transfer may have opened the partial file of `other`.
    func hasPartialFile(of other: TransferSlot) -> Bool {
        query(queued: { _ in false }, active: { $0.hasPartialFile(at: other.location) })
    }

    /// Suspends the operations of the store; a call of ``resumeOperations()`` must follow.
    func suspendOperations() { activate().queue.suspend() }

    /// Resumes the operations of the store after ``suspendOperations()``.
    func resumeOperations() { activate().queue.resume() }

    /// Ends the subscribers whose destination is `path` if nothing can resume them.
    ///
    /// This method is called under the registry's lock; the returned closure must be called after the lock is released.
    ///
    /// - Returns: The effects to perform, or nil if the path is still in use.
    func evictUnreachable(from path: String) -> (@Sendable () -> Void)? {
        switch route({ $0.releaseIfUnreachable() }) {
        case .decided(let hasEnded, let effects):
            guard hasEnded else { return nil }
            return { for effect in effects { effect() } }
        case .forwarded(let active):
            return active.evictUnreachable(from: path)
        }
    }
}

// MARK: - The downloader

extension TransferSlot {
    /// The location of the partial file.
    var location: PartialLocation {
        query(queued: { _ in environment.location(of: request, TransferKey(request)) }, active: \.location)
    }

    /// The maximum number of bytes per second for this transfer; nil if it has no separate limit.
    var bandwidthLimit: Int64? {
        get { query(queued: { _ in request.bandwidthLimit.bytesPerSecond }, active: \.bandwidth.limit) }
        set { activate().bandwidth.limit = newValue }
    }

    /// Whether the transfer is waiting for a permit.
    var isWaiting: Bool { query(queued: { $0.ticket != nil }, active: \.isWaiting) }

    /// The subscribers without an outcome.
    var activeSubscribers: [SubscriberID] {
        query(queued: { $0.ending == nil ? [.first] : [] }, active: \.activeSubscribers)
    }

    /// The subscribers that aren't paused.
    var runningSubscribers: [SubscriberID] {
        query(queued: { $0.ticket == nil ? [] : [.first] }, active: \.runningSubscribers)
    }

    /// Calls `body` once when the transfer is paused or has ended, so that its files are closed.
    func whenResting(_ body: @escaping @Sendable () -> Void) {
        // A queued transfer has no open files.
        query(queued: { _ in body() }, active: { $0.whenResting(body) })
    }

    /// Ends a paused transfer that nothing can resume.
    ///
    /// - Parameter discarding: Whether to delete the transfer's bytes on disk, even if the transfer can be resumed.
    ///
    /// - Returns: Whether the transfer has ended.
    func releaseIfPaused(discarding: Bool) -> Bool {
        input(
            queued: { $0.releaseIfUnreachable(discarding: discarding) },
            active: { $0.releaseIfPaused(discarding: discarding) })
    }

    /// Ends every subscriber with `error` and stops the transfer with all bytes kept, regardless of the
    /// ``AbandonmentPolicy``.
    func shutDown(_ error: DownloadError) {
        input(queued: { $0.end(error.code) }, active: { $0.shutDown(error) })
    }
}

extension TransferSlot: PermitReceiver {
    func permitGranted(_ ticket: PermitQueue.Ticket) {
        input(queued: { $0.permitAnswered(ticket) }, active: { $0.permitGranted(ticket) })
    }

    func originHindered(_ ticket: PermitQueue.Ticket) {
        // An event stream would have activated a queued transfer, so this one has no stream to notify.
        input(queued: { _ in () }, active: { $0.originHindered(ticket) })
    }

    func permitRefused(_ ticket: PermitQueue.Ticket, _ error: DownloadError) {
        input(queued: { $0.permitAnswered(ticket) }, active: { $0.permitRefused(ticket, error) })
    }
}
