/// The transfer that a handle is attached to, in this process or in a background session.
protocol SubscribedTransfer: AnyObject, Sendable {
    /// Adds a handle to each subscriber without an outcome whose request is accepted by `isIncluded`.
    ///
    /// - Returns: The subscribers, in the order in which they attached.
    func addHandles(where isIncluded: (DownloadID, DownloadRequest) -> Bool) -> [AddedHandle]
    /// Records that a handle of the subscriber was released.
    func handleReleased(_ id: SubscriberID)
    /// Opens an event stream.
    func openStream(_ id: SubscriberID, _ stream: EventStream) -> StreamID
    /// Closes a stream, and returns the error for its reader.
    ///
    /// If the reading task was canceled, the subscriber is detached unless it has other consumers.
    func closeStream(_ id: SubscriberID, stream: StreamID, isCancellation: Bool) -> DownloadError
    /// Adds an observer, which is called after each change of the subscriber's status, on any thread.
    func addObserver(_ id: SubscriberID, _ observer: @escaping @Sendable () -> Void) -> ObserverID
    /// Removes an observer; a call that is already in progress may still happen.
    func removeObserver(_ observer: ObserverID, of id: SubscriberID)
    /// Creates the identifier of a consumer that awaits an outcome.
    func newWaiter() -> WaiterID
    /// Adds a consumer that awaits the outcome; in a canceled task, this may detach the subscriber instead.
    func wait(
        _ waiter: WaiterID, of id: SubscriberID, resume: @escaping @Sendable (Subscriber.Outcome) -> Void
    ) -> WaitAnswer
    /// Removes a consumer whose task was canceled, which may detach the subscriber.
    func cancelWait(_ waiter: WaiterID, of id: SubscriberID)
    /// Whether outcomes are remembered until they are acknowledged, as in a background session.
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
    /// Returns the status of a subscriber.
    func status(of id: SubscriberID) -> SubscriberStatus
    /// Returns the policies of a subscriber; nil after its end.
    func policies(of id: SubscriberID) -> ResolvedPolicies?
    /// Changes the policies of a subscriber, unless it has its outcome.
    func updatePolicies(of id: SubscriberID, _ change: (inout ResolvedPolicies) -> Void)
}

/// The answer to a consumer that awaits the outcome.
enum WaitAnswer: Sendable {
    /// The consumer is called later.
    case later
    case now(Subscriber.Outcome)
}

extension SubscribedTransfer {
    /// Returns the subscriber's outcome, after waiting for it if necessary.
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
    /// The closure counts as a consumer of the subscriber.
    func whenEnded(_ id: SubscriberID, _ body: @escaping @Sendable (Subscriber.Outcome) -> Void) {
        if case .now(let outcome) = wait(newWaiter(), of: id, resume: body) { body(outcome) }
    }
}

extension Subscriber.Outcome {
    /// Whether the outcome is a cancellation of the consumer or the handle, so that the transfer's outcome wasn't
    /// received.
    fileprivate var isCancellation: Bool {
        if case .failure(let error) = self { error.code == .cancelled } else { false }
    }
}

/// A handle that was added to a subscriber; it has to be released once.
struct AddedHandle: Sendable {
    let id: DownloadID
    let subscriber: SubscriberID
    let request: DownloadRequest
    /// Whether the subscriber joined a transfer with other subscribers.
    let isCoalesced: Bool
}

/// An attached subscriber, and the effects to perform without a lock.
struct Attachment: Sendable {
    let id: SubscriberID
    let performEffects: @Sendable () -> Void
}
