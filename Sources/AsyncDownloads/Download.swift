public import struct Foundation.URL

/// A caller's handle on a download.
///
/// Many handles may share one transfer; what one does disturbs no other. A handle that is let go of changes nothing:
/// the download goes on. All members may be used from any thread, at any time, any number of times.
public final class Download: Sendable {
    enum Source: Sendable {
        case transfer(Transfer, caller: Int)
        /// The request could not be started.
        case refused(DownloadError)
    }

    /// What was asked for.
    public let request: DownloadRequest

    /// Whether it joined a transfer that was there already, whose fetched bytes count for another handle.
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

    /// What happens, from the beginning for the first stream that is made, from the present for later ones.
    ///
    /// The stream stays open across pauses and ends after ``DownloadEvent/finished(_:)``, or by throwing the
    /// ``DownloadError`` that ended the download. It has one consumer; make another for a second one. Progress that a
    /// slow consumer does not take is replaced by later progress. Other events are kept until a hundred are unread; of those
    /// that are left out then, ``DownloadEvent/omitted(count:)`` gives the number.
    ///
    /// Cancelling the task that reads it leaves the download, unless something else reads or awaits this handle; the
    /// loop then ends, by throwing ``DownloadError/Code/cancelled`` where it was waiting. Merely leaving the loop
    /// changes nothing.
    public var events: AsyncThrowingStream<DownloadEvent, any Error> {
        switch source {
        case .refused(let error):
            return AsyncThrowingStream { throw error }
        case .transfer(let transfer, let caller):
            let lease = EventStreamLease(transfer: transfer, caller: caller)
            return AsyncThrowingStream { try await lease.next() }
        }
    }

    /// What happens from now on, for one who only looks on: reading it keeps no download alive, and leaving it ends none.
    var updates: AsyncThrowingStream<DownloadEvent, any Error> {
        guard case .transfer(let transfer, let caller) = source else { return events }
        let lease = EventStreamLease(transfer: transfer, caller: caller, isObserver: true)
        return AsyncThrowingStream { try await lease.next() }
    }

    /// The finished file, awaited.
    ///
    /// Cancelling the awaiting task leaves the download, unless something else reads or awaits this handle.
    ///
    /// - Throws: The error that ended the download; ``DownloadError/Code/cancelled`` when this handle or the task was
    ///   cancelled. A pause is no error: the result is awaited across it.
    public var file: DownloadedFile {
        get async throws(DownloadError) {
            switch source {
            case .refused(let error): throw error
            case .transfer(let transfer, let caller):
                return try await transfer.outcome(of: caller).concerning(request.url).get()
            }
        }
    }

    /// Calls `body` once with how the download ends, perhaps before this returns.
    ///
    /// Like a reader of ``events`` or ``file``, what waits this way keeps the download alive.
    func whenEnded(_ body: @escaping @Sendable (Result<DownloadedFile, DownloadError>) -> Void) {
        switch source {
        case .refused(let error): body(.failure(error))
        case .transfer(let transfer, let caller): transfer.whenEnded(caller, body)
        }
    }

    /// Stops this download and keeps what was received; the stream stays open.
    ///
    /// The transfer itself stops when every handle that shares it has paused. ``DownloadEvent/paused(receivedByteCount:)``
    /// says that the bytes are on disk. A pause that comes after the last byte has nothing to stop.
    public func pause() {
        withTransfer { $0.pause($1) }
    }

    /// Goes on after ``pause()``, from the bytes that are there.
    public func resume() {
        withTransfer { $0.resume($1) }
    }

    /// Leaves the download: ``file`` and ``events`` fail with ``DownloadError/Code/cancelled``.
    ///
    /// Others that share the transfer are not disturbed. When nobody is left the transfer stops and, by the default
    /// ``AbandonmentPolicy``, its bytes serve the next request of the resource.
    public func cancel() {
        withTransfer { $0.detach($1, DownloadError(.cancelled)) }
    }

    /// Leaves the download like ``cancel()`` and removes its bytes, unless others share them.
    ///
    /// A file that is being given its name at that moment stays.
    public func discard() {
        withTransfer { $0.detach($1, DownloadError(.cancelled), keepingBytes: false) }
    }

    /// Goes on from another URL of the same resource, for every handle that shares the transfer.
    ///
    /// A running exchange is ended, a delay cut short; a paused download takes the URL when it is resumed. The bytes that
    /// are there are kept when the new URL proves to be of the same object: by the same strong validator or the same
    /// `Repr-Digest`, and the same length; ``ContentChangePolicy`` can leave the proof to the expected digest. Otherwise the
    /// download begins again, which ``DownloadEvent/restarted(reason:discardedByteCount:)`` tells. The resource keeps its
    /// identity: requests for the original URL still join this transfer, now and in later processes.
    ///
    /// - Throws: ``DownloadError/Code/invalidRequest`` when the URL or the headers cannot be used; nothing has changed then.
    public func replaceURL(with fresh: FreshURL) throws(DownloadError) {
        if let fault = fresh.validationError { throw fault }
        withTransfer { transfer, _ in transfer.replaceURL(with: fresh) }
    }

    /// Goes on from another URL of the same resource; see ``replaceURL(with:)-(FreshURL)``.
    public func replaceURL(with url: URL) throws(DownloadError) {
        try replaceURL(with: FreshURL(url))
    }

    /// Where the download stands.
    public var state: State {
        switch source {
        case .refused: .failed
        case .transfer(let transfer, let caller): transfer.withState { $0.stateForCaller(caller) }
        }
    }

    /// How far it has come.
    public var progress: DownloadProgress {
        switch source {
        case .refused: DownloadProgress()
        case .transfer(let transfer, _): transfer.withState { $0.machine.progress }
        }
    }

    private func withTransfer(_ body: (Transfer, Int) -> Void) {
        if case .transfer(let transfer, let caller) = source { body(transfer, caller) }
    }
}

extension Download: CustomStringConvertible, CustomReflectable {
    /// The request without what may be secret in it: fit for a log.
    public var description: String { "download of \(request)" }

    /// A mirror without children, since the URL and the headers may hold secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}

/// Closes a stream when nothing can read it any more.
private final class EventStreamLease: Sendable {
    private let transfer: Transfer
    private let caller: Int
    private let stream: Int

    init(transfer: Transfer, caller: Int, isObserver: Bool = false) {
        self.transfer = transfer
        self.caller = caller
        stream = transfer.openStream(caller, isObserver: isObserver)
    }

    func next() async throws(DownloadError) -> DownloadEvent? {
        try await transfer.nextEvent(caller, stream: stream)
    }

    deinit {
        // A stream that is dropped by a cancelled task was left by cancellation, whether or not it was waiting.
        transfer.closeStream(caller, stream: stream, cancelled: Task.isCancelled)
    }
}
