public import struct Foundation.URL

/// A handle on a download.
///
/// Several downloads may share one transfer; pausing, canceling, or discarding one of them doesn't affect the others.
/// Releasing a handle has no effect: the download continues, and ``Downloader/downloads(for:)`` returns another handle
/// on it. All members may be used from any thread, at any time, and any number of times.
public final class Download: Sendable {
    enum Source: Sendable {
        case subscriber(SubscriberID, of: any SubscribedTransfer)
        /// The request was refused, and there is no transfer.
        indirect case refused(DownloadError)
    }

    /// The request that this download carries out.
    public let request: DownloadRequest

    /// A Boolean value that indicates whether the download joined an existing transfer.
    ///
    /// If it did, the bytes that the transfer fetches are attributed to another download.
    public let isCoalesced: Bool

    let source: Source

    init(request: DownloadRequest, source: Source, isCoalesced: Bool = false) {
        self.request = request
        self.source = source
        self.isCoalesced = isCoalesced
    }

    deinit {
        withTransfer { $0.handleReleased($1) }
    }

    /// The transfer and the subscriber of the handle, or `nil` if the request was refused.
    var subscription: (transfer: any SubscribedTransfer, subscriber: SubscriberID)? {
        switch source {
        case .subscriber(let subscriber, let transfer): (transfer, subscriber)
        case .refused: nil
        }
    }

    /// The transfer, or `nil` if the request was refused or if a background session performs it.
    var foregroundTransfer: TransferSlot? { subscription?.transfer as? TransferSlot }

    /// Whether the outcome is remembered until the app acknowledges it.
    var remembersOutcome: Bool { subscription?.transfer.remembersOutcomes ?? false }

    /// The finished file.
    ///
    /// Reading this property waits for the end of the download, across pauses. Canceling the waiting task cancels this
    /// download, unless something else reads or awaits this handle.
    ///
    /// - Throws: The ``DownloadError`` that ended the download; its code is ``DownloadError/Code/cancelled`` if this
    ///   handle or the task was canceled. A pause isn't an error.
    public var file: DownloadedFile {
        get async throws(DownloadError) {
            switch source {
            case .refused(let error): throw error
            case .subscriber(let subscriber, let transfer):
                return try await transfer.outcome(of: subscriber).concerning(request.url).get()
            }
        }
    }

    /// Calls `body` once with the result of the download, possibly before this method returns.
    ///
    /// Until then, `body` counts as a consumer of the download, like a reader of ``events`` or ``file``.
    func whenEnded(_ body: @escaping @Sendable (Result<DownloadedFile, DownloadError>) -> Void) {
        switch source {
        case .refused(let error): body(.failure(error))
        case .subscriber(let subscriber, let transfer): transfer.whenEnded(subscriber, body)
        }
    }

    /// Pauses the download and keeps the received bytes; its event streams stay open.
    ///
    /// The transfer stops when every download that shares it is paused. ``DownloadEvent/paused(receivedByteCount:)``
    /// reports that the bytes are on disk. After the last byte has been received, a pause has nothing left to stop.
    public func pause() {
        withTransfer { $0.pause($1) }
    }

    /// Resumes the download after ``pause()``, from the received bytes.
    public func resume() {
        withTransfer { $0.resume($1) }
    }

    /// Cancels this download; ``file`` and ``events`` then throw ``DownloadError/Code/cancelled``.
    ///
    /// Other downloads that share the transfer aren't affected. When the last one is canceled, the ``AbandonmentPolicy``
    /// applies: by default, the transfer stops, and the next request for the resource continues from its bytes.
    public func cancel() {
        withTransfer { $0.detach($1, DownloadError(.cancelled), keepingBytes: true) }
    }

    /// Cancels this download like ``cancel()``, and removes its bytes unless other downloads share them.
    ///
    /// A file that is being placed at its destination at that moment is kept.
    public func discard() {
        withTransfer { $0.detach($1, DownloadError(.cancelled), keepingBytes: false) }
    }

    /// Records that the app has received the outcome of a download in a background session, and no longer needs to be
    /// reminded of it.
    ///
    /// ``Downloader/restored()`` returns a download at each launch until its outcome is acknowledged. An outcome is
    /// acknowledged when ``file`` has returned the file or thrown the error, when a loop over ``events`` has received its
    /// end, or when a batch has delivered it. Call this method if the app follows the download in another way, such as
    /// its ``states``.
    ///
    /// The method has no effect before the download has ended, after a cancellation, and without a background session.
    public func acknowledge() {
        withTransfer { $0.acknowledge($1) }
    }

    /// Continues the download from another URL of the same resource.
    ///
    /// The change applies to every download that shares the transfer. A running exchange is ended, and the delay before a
    /// retry is cut short; a paused download uses the URL when it is resumed.
    ///
    /// Received bytes are kept if the new URL is proven to have the same object, by the same strong validator or the
    /// same `Repr-Digest`, and the same length. A ``ContentChangePolicy`` can defer the proof to the expected digest.
    /// Otherwise, the download restarts and reports ``DownloadEvent/restarted(reason:discardedByteCount:)``. The
    /// resource keeps its identity: requests for the original URL still join this transfer, now and in later processes.
    ///
    /// - Throws: ``DownloadError/Code/invalidRequest`` if the URL or the headers can't be used, and
    ///   ``DownloadError/Code/unsupported`` in a background session. The download is unchanged in this case.
    public func replaceURL(with fresh: FreshURL) throws(DownloadError) {
        if let fault = fresh.validationError { throw fault }
        if let (transfer, _) = subscription { try transfer.replaceURL(with: fresh) }
    }

    /// Continues the download from another URL of the same resource; see ``replaceURL(with:)-(FreshURL)``.
    public func replaceURL(with url: URL) throws(DownloadError) {
        try replaceURL(with: FreshURL(url))
    }

    /// The current state of the download.
    public var state: State {
        subscription.map { $0.transfer.publicState(of: $0.subscriber) } ?? .failed
    }

    /// The current progress of the download.
    public var progress: DownloadProgress {
        subscription?.transfer.currentProgress ?? DownloadProgress()
    }

    /// The maximum number of bytes per second that the transfer of this download receives; `nil` for no limit of its
    /// own.
    ///
    /// The value is initially that of ``DownloadRequest/bandwidthLimit``. A change applies at once, and to every handle
    /// that shares the transfer. ``Downloader/bandwidthLimit`` applies as well. A value below 1 counts as 1. In a
    /// background session, the value is always `nil`.
    public var bandwidthLimit: Int64? {
        get { foregroundTransfer?.bandwidthLimit }
        set {
            guard newValue != bandwidthLimit, let transfer = foregroundTransfer else { return }
            transfer.bandwidthLimit = newValue
        }
    }

    private func withTransfer(_ body: (any SubscribedTransfer, SubscriberID) -> Void) {
        if let (transfer, subscriber) = subscription { body(transfer, subscriber) }
    }
}

extension Download: CustomStringConvertible, CustomReflectable {
    /// A description that is fit for a log: the request without anything that may be secret.
    public var description: String { "download of \(request)" }

    /// A mirror without children, because the URL and the headers may contain secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
