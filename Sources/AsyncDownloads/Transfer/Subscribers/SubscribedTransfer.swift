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
    /// Returns the stream's next event, or nil at its end.
    func nextEvent(_ id: SubscriberID, stream: StreamID) async throws(DownloadError) -> DownloadEvent?
    /// Closes a stream; if the reading task was canceled, this may detach the subscriber.
    func closeStream(_ id: SubscriberID, stream: StreamID, cancelled: Bool)
    /// Returns the subscriber's outcome, and waits for it if necessary.
    func outcome(of id: SubscriberID) async -> SubscriberSet.Outcome
    /// Calls `body` once with the subscriber's outcome, possibly before this function returns.
    func whenEnded(_ id: SubscriberID, _ body: @escaping @Sendable (Subscriber.Outcome) -> Void)
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

extension Transfer: SubscribedTransfer {}

/// A handle that was added to a subscriber, and that has to be released once.
struct AddedHandle: Sendable {
    let subscriber: SubscriberID
    let request: DownloadRequest
    /// Whether the subscriber joined a transfer that had others.
    let isCoalesced: Bool
}
