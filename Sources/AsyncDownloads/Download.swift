public import struct Foundation.URL

/// A handle to a download.
///
/// ```swift
/// let download = downloader.start(DownloadRequest(from: url, to: destination))
/// download.pause()
/// download.resume()
/// let file = try await download.file
/// ```
///
/// Several downloads may share one transfer; pausing, canceling, or discarding one of them doesn't affect the others.
/// Releasing a handle has no effect: the download continues, and ``Downloader/downloads(for:)`` returns another handle
/// to it. All members may be used from any thread, at any time, and any number of times.
public final class Download: Sendable {
    /// The object that a handle refers to.
    enum Source: Sendable {
        case subscriber(Subscription)
        /// The request was refused, so no transfer exists.
        indirect case refused(DownloadError)
    }

    /// A subscriber of a transfer.
    struct Subscription: Sendable {
        let transfer: any SubscribedTransfer
        let subscriber: SubscriberID
    }

    /// The result of the start of a download.
    struct Start: Sendable {
        let source: Source
        let isCoalesced: Bool

        static func joined(
            _ transfer: any SubscribedTransfer, _ subscriber: SubscriberID, isCoalesced: Bool = false
        ) -> Self {
            Self(
                source: .subscriber(Subscription(transfer: transfer, subscriber: subscriber)),
                isCoalesced: isCoalesced)
        }

        static func refused(_ error: DownloadError) -> Self { Self(source: .refused(error), isCoalesced: false) }
    }

    private struct Content {
        var start: Start
        /// The last replacement of the URL, which a repeated download uses.
        var freshURL: FreshURL?
        /// Whether a thread is starting the download again.
        var isRestarting = false
    }

    /// The identifier of the download, which is recorded with its bytes and stays the same across launches.
    public let id: ID

    /// The request of this download.
    public let request: DownloadRequest

    private let downloader: Downloader
    private let content: Mutex<Content>

    init(_ id: ID, _ request: DownloadRequest, _ start: Start, of downloader: Downloader) {
        self.id = id
        self.request = request
        self.downloader = downloader
        content = Mutex(Content(start: start))
    }

    deinit {
        source.releaseHandle()
    }

    /// A Boolean value that indicates whether the download joined an existing transfer.
    ///
    /// If it did, the bytes that the transfer fetches are attributed to another download.
    public var isCoalesced: Bool { content.withLock { $0.start.isCoalesced } }

    /// The object that the handle refers to at present.
    var source: Source { content.withLock { $0.start.source } }

    /// The transfer and the subscriber of the handle, or `nil` if the request was refused.
    var subscription: Subscription? { source.subscription }

    /// The transfer, or `nil` if the request was refused or if a background session performs it.
    var foregroundTransfer: TransferSlot? { subscription?.transfer as? TransferSlot }

    /// Whether the outcome is remembered until the app acknowledges it.
    var remembersOutcome: Bool { subscription?.transfer.remembersOutcomes ?? false }

    /// The finished file.
    ///
    /// Reading this property waits until the download has ended, across pauses. Canceling the waiting task cancels this
    /// download, unless another task reads or awaits this handle.
    ///
    /// - Throws: The ``DownloadError`` that ended the download; its code is ``DownloadError/Code/cancelled`` if this
    ///   handle or the task was canceled. A pause isn't an error.
    public var file: DownloadedFile {
        get async throws(DownloadError) {
            switch source {
            case .refused(let error): throw error
            case .subscriber(let subscription):
                return try await subscription.transfer.outcome(of: subscription.subscriber)
                    .concerning(request.url).get()
            }
        }
    }

    /// Calls `body` once with the result of the download, possibly before this method returns.
    ///
    /// Until then, `body` counts as a consumer of the download, like a reader of ``events`` or ``file``.
    func whenEnded(_ body: @escaping @Sendable (Result<DownloadedFile, DownloadError>) -> Void) {
        switch source {
        case .refused(let error): body(.failure(error))
        case .subscriber(let subscription): subscription.transfer.whenEnded(subscription.subscriber, body)
        }
    }

    /// Pauses the download and keeps the received bytes; its event streams stay open.
    ///
    /// The transfer stops when every download that shares it is paused. ``DownloadEvent/paused(receivedByteCount:)``
    /// reports that the bytes are on disk. A pause has no effect after the last byte has been received.
    public func pause() {
        withTransfer { $0.pause($1) }
    }

    /// Resumes the download after ``pause()``, from the received bytes.
    public func resume() {
        withTransfer { $0.resume($1) }
    }

    /// Cancels this download; ``file`` and ``events`` then throw ``DownloadError/Code/cancelled``.
    ///
    /// Other downloads that share the transfer aren't affected. When the last one is canceled, the
    /// ``AbandonmentPolicy`` applies: by default, the transfer stops, and the next request for the resource continues
    /// from its bytes.
    public func cancel() {
        withTransfer { $0.detach($1, DownloadError(.cancelled), keepingBytes: true) }
    }

    /// Cancels this download like ``cancel()``, and removes its bytes unless other downloads share them.
    ///
    /// After a failure or a cancellation, the method removes the bytes that were kept, unless an unfinished download of
    /// the resource may continue from them; in a background session, it also acknowledges the failure. A file that is
    /// finished, or is being placed at its destination, is kept. The method doesn't wait for the removal.
    public func discard() {
        withTransfer { $0.detach($1, DownloadError(.cancelled), keepingBytes: false) }
    }

    /// Records that the app has received the outcome of a download in a background session.
    ///
    /// ``Downloader/restored()`` returns a download at each launch until its outcome is acknowledged. An outcome is
    /// acknowledged when ``file`` has returned the file or thrown the error, when a batch has delivered it, or when
    /// ``DownloadList/remove(_:)`` has removed it. Call this method if the app follows the download by its ``events``
    /// or ``updates``.
    ///
    /// The method has no effect before the download has ended, after a cancellation, and without a background session.
    public func acknowledge() {
        withTransfer { $0.acknowledge($1) }
    }

    /// Continues the download from another URL of the same resource.
    ///
    /// The change applies to every download that shares the transfer. A running request is canceled, and a delay before
    /// a retry ends at once; a paused download uses the URL when it is resumed. After a failure or a cancellation,
    /// ``retry()`` uses the URL.
    ///
    /// Received bytes are kept if the new URL is proven to have the same object: its length is the same, and so is its
    /// strong validator or its `Repr-Digest`. A ``ContentChangePolicy`` can defer the proof to the expected digest.
    /// Otherwise, the download restarts and reports ``DownloadEvent/restarted(reason:discardedByteCount:)``. The
    /// resource keeps its identity: requests for the original URL still join this transfer, now and in later processes.
    ///
    /// - Throws: ``DownloadError/Code/invalidRequest`` if the URL or the headers can't be used, and
    ///   ``DownloadError/Code/unsupported`` in a background session. The download doesn't change if an error is thrown.
    public func replaceURL(with fresh: FreshURL) throws(DownloadError) {
        if let fault = fresh.validationError { throw fault }
        try subscription?.transfer.replaceURL(with: fresh)
        content.withLock { $0.freshURL = fresh }
    }

    /// Continues the download from another URL of the same resource; see ``replaceURL(with:)-(FreshURL)``.
    public func replaceURL(with url: URL) throws(DownloadError) {
        try replaceURL(with: FreshURL(url))
    }

    /// Starts the download again after a failure or a cancellation, from the bytes that are kept.
    ///
    /// The handle then refers to the repeated download, with the same ``id`` and ``request``, and with the URL that
    /// ``replaceURL(with:)-(URL)`` of this handle set last, if any. New streams of ``events`` and ``updates`` follow
    /// the repeated download. The method has no effect unless ``state`` is ``DownloadState/failed`` or
    /// ``DownloadState/cancelled``. Other handles of the download don't change.
    public func retry() {
        let content = content.withLock { content -> Content? in
            guard !content.isRestarting else { return nil }
            content.isRestarting = true
            return content
        }
        guard let content else { return }
        let old = content.start.source
        let start = isRepeatable(old) ? downloader.restart(self, at: content.freshURL) : nil
        self.content.withLock { content in
            content.isRestarting = false
            if let start { content.start = start }
        }
        if start != nil { old.releaseHandle() }
    }

    private func isRepeatable(_ source: Source) -> Bool {
        switch source.status.state {
        case .failed, .cancelled: true
        case .ready, .waiting, .downloading, .retrying, .paused, .verifying, .completed: false
        }
    }

    /// The current state of the download.
    public var state: DownloadState { source.status.state }

    /// The current progress of the download.
    public var progress: DownloadProgress { source.status.progress }

    /// The priority of the download among those that wait for their turn.
    ///
    /// The initial value is ``DownloadRequest/priority``. A change applies at once; a transfer that several downloads
    /// share has the highest of their priorities. In a background session, a change has no effect.
    public var priority: DownloadRequest.Priority {
        get { subscription.flatMap { $0.transfer.policies(of: $0.subscriber) }?.priority ?? request.priority }
        set { updatePolicies { $0.priority = newValue } }
    }

    private func updatePolicies(_ change: (inout ResolvedPolicies) -> Void) {
        withTransfer { $0.updatePolicies(of: $1, change) }
    }

    /// The maximum rate at which the transfer of this download receives bytes.
    ///
    /// The initial value is ``DownloadRequest/bandwidthLimit``. A change applies at once, and to every handle that
    /// shares the transfer. ``Downloader/bandwidthLimit`` applies as well. A value below 1 counts as 1. In a background
    /// session, the value is always ``ByteRate/unlimited``.
    public var bandwidthLimit: ByteRate {
        get { foregroundTransfer.map { ByteRate($0.bandwidthLimit) } ?? .unlimited }
        set {
            guard newValue != bandwidthLimit, let transfer = foregroundTransfer else { return }
            transfer.bandwidthLimit = newValue.bytesPerSecond
        }
    }

    /// The networks that this download may use.
    ///
    /// The initial value is ``DownloadRequest/networkAccess`` or, if that is `nil`,
    /// ``Downloader/Configuration/networkAccess``. A change applies at once: a running transfer that may no longer use
    /// the present network waits for another one, and a waiting transfer that may use it continues. Other downloads
    /// that share the transfer keep their own values.
    public var networkAccess: NetworkAccess {
        get {
            subscription.flatMap { $0.transfer.policies(of: $0.subscriber) }?.networkAccess
                ?? request.networkAccess ?? downloader.configuration.networkAccess
        }
        set { updatePolicies { $0.networkAccess = newValue } }
    }

    private func withTransfer(_ body: (any SubscribedTransfer, SubscriberID) -> Void) {
        if let subscription { body(subscription.transfer, subscription.subscriber) }
    }
}

extension Download.Source {
    /// The transfer and the subscriber, or `nil` if the request was refused.
    var subscription: Download.Subscription? {
        switch self {
        case .subscriber(let subscription): subscription
        case .refused: nil
        }
    }

    /// The status of the download.
    var status: SubscriberStatus {
        switch self {
        case .subscriber(let subscription): subscription.transfer.status(of: subscription.subscriber)
        case .refused(let error): .ended(.failure(error), DownloadProgress())
        }
    }

    /// Records that a handle was released, or now refers to another subscriber.
    fileprivate func releaseHandle() {
        if let subscription { subscription.transfer.handleReleased(subscription.subscriber) }
    }
}

extension Download: CustomStringConvertible, CustomReflectable {
    /// A description that is fit for a log: the request without values that may be secret.
    public var description: String { "download of \(request)" }

    /// A mirror without children, because the URL and the headers may contain secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
