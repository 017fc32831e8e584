/// The transfer that a handle is attached to, in this process or in a background session.
protocol SubscribedTransfer: AnyObject, Sendable {
    /// Adds a handle to each subscriber without an outcome whose request is accepted by `isIncluded`.
    ///
    /// - Returns: The subscribers, in the order in which they attached.
    func addHandles(where isIncluded: (DownloadRequest) -> Bool) -> [AddedHandle]
    /// Records that a handle of the subscriber was released.
    func handleReleased(_ id: SubscriberID)
    /// Opens an event stream; that of an observer keeps nothing alive.
    func openStream(_ id: SubscriberID, isObserver: Bool) -> StreamID
    /// Returns the stream's next delivery, or nil if `continuation` is resumed with it later.
    func nextDelivery(
        _ id: SubscriberID, stream: StreamID, _ continuation: CheckedContinuation<EventBuffer.Delivery, Never>
    ) -> EventBuffer.Delivery?
    /// Closes a stream; if the reading task was canceled, this may detach the subscriber.
    func closeStream(_ id: SubscriberID, stream: StreamID, cancelled: Bool)
    /// Creates the identifier of a consumer that awaits an outcome.
    func newWaiter() -> WaiterID
    /// Adds a consumer that awaits the outcome; in a canceled task, this may detach the subscriber instead.
    func wait(
        _ waiter: WaiterID, of id: SubscriberID, resume: @escaping @Sendable (Subscriber.Outcome) -> Void
    ) -> WaitAnswer
    /// Removes a consumer whose task was canceled, which may detach the subscriber.
    func cancelWait(_ waiter: WaiterID, of id: SubscriberID)
    /// Whether outcomes are remembered until they are acknowledged, as those of a background session are.
    var remembersOutcomes: Bool { get }
    /// Records that the app has received the subscriber's outcome.
    func acknowledge(_ id: SubscriberID)
    /// Pauses the subscriber.
    func pause(_ id: SubscriberID)
    /// Resumes the subscriber.
    func resume(_ id: SubscriberID)
    /// Ends the subscriber with an error.
    func detach(_ id: SubscriberID, _ error: DownloadError, keepingBytes: Bool)
    /// Continues from another URL of the same resource.
    func replaceURL(with fresh: FreshURL) throws(DownloadError)
    /// Returns the state as one subscriber sees it.
    func publicState(of id: SubscriberID) -> DownloadState
    /// The current progress.
    var currentProgress: DownloadProgress { get }
}

/// The answer to a consumer that awaits the outcome.
enum WaitAnswer: Sendable {
    /// The consumer is called later.
    case later
    case now(Subscriber.Outcome)
}

extension SubscribedTransfer {
    /// Returns the subscriber's outcome, and waits for it if necessary.
    ///
    /// If the task is canceled, even after the outcome has arrived, the result is ``DownloadError/Code/cancelled``, and
    /// the subscriber is detached unless it has other consumers.
    func outcome(of id: SubscriberID) async -> Subscriber.Outcome {
        let waiter = newWaiter()
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = wait(waiter, of: id) { continuation.resume(returning: $0) }
                if case .now(let outcome) = answer { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            cancelWait(waiter, of: id)
        }
        if !outcome.isCancellation { acknowledge(id) }
        return outcome
    }

    /// Calls `body` once with the subscriber's outcome, possibly before this method returns.
    ///
    /// A closure that waits this way counts as a consumer of the subscriber.
    func whenEnded(_ id: SubscriberID, _ body: @escaping @Sendable (Subscriber.Outcome) -> Void) {
        if case .now(let outcome) = wait(newWaiter(), of: id, resume: body) { body(outcome) }
    }

    /// Returns the stream's next event, or nil at its end.
    ///
    /// - Parameter isObserver: Whether the stream is that of an observer, which doesn't receive the outcome for the app.
    func nextEvent(
        _ id: SubscriberID, stream: StreamID, isObserver: Bool
    ) async throws(DownloadError) -> DownloadEvent? {
        let delivery: EventBuffer.Delivery = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if let ready = nextDelivery(id, stream: stream, continuation) { continuation.resume(returning: ready) }
            }
        } onCancel: {
            closeStream(id, stream: stream, cancelled: true)
        }
        if !isObserver, delivery.isOutcome { acknowledge(id) }
        return try delivery.get()
    }
}

extension Subscriber.Outcome {
    /// Whether the consumer, or the handle, was canceled, so that the outcome of the transfer was not received.
    fileprivate var isCancellation: Bool {
        if case .failure(let error) = self { error.code == .cancelled } else { false }
    }
}

extension EventBuffer.Delivery {
    /// Whether the stream ends with the outcome of the transfer.
    fileprivate var isOutcome: Bool {
        switch self {
        case .success(.finished?): true
        case .success: false
        case .failure(let error): error.code != .cancelled
        }
    }
}

/// A handle that was added to a subscriber, and that has to be released once.
struct AddedHandle: Sendable {
    let subscriber: SubscriberID
    let request: DownloadRequest
    /// Whether the subscriber joined a transfer that had others.
    let isCoalesced: Bool
}

/// A subscriber that has been attached, and the effects to perform when no lock is held.
struct Attachment: Sendable {
    let id: SubscriberID
    let performEffects: @Sendable () -> Void
}
