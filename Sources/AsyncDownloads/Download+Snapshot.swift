public import struct Foundation.Date

extension Download {
    /// The state and the progress of a download at one point in time.
    ///
    /// ```swift
    /// let snapshot = download.snapshot
    /// if snapshot.state == .failed, let error = snapshot.error { print(error.localizedDescription) }
    /// ```
    public struct Snapshot: Sendable, Hashable, Identifiable {
        /// The identifier of the download.
        public var id: Download.ID
        /// The request of the download.
        public var request: DownloadRequest
        /// The state of the download.
        public var state: State
        /// The progress of the download.
        public var progress: DownloadProgress
        /// The reason why the download waits; `nil` unless ``state`` is ``DownloadState/waiting``.
        public var waitingReason: WaitingReason?
        /// The error that ended the download, or the error of the last attempt if ``state`` is
        /// ``DownloadState/retrying``.
        public var error: DownloadError?
        /// The time of the next attempt, if the download waits for it and the time is known.
        public var nextAttempt: Date?
        /// The finished file; `nil` unless ``state`` is ``DownloadState/completed``.
        public var file: DownloadedFile?

        /// Creates a snapshot, for previews of a user interface and for tests.
        public init(
            id: Download.ID, request: DownloadRequest, state: State = .ready, progress: DownloadProgress = .init(),
            waitingReason: WaitingReason? = nil, error: DownloadError? = nil, nextAttempt: Date? = nil,
            file: DownloadedFile? = nil
        ) {
            self.id = id
            self.request = request
            self.state = state
            self.progress = progress
            self.waitingReason = waitingReason
            self.error = error
            self.nextAttempt = nextAttempt
            self.file = file
        }
    }

    /// The current snapshot of the download.
    public var snapshot: Snapshot { Snapshot(id: id, request: request, source.status) }

    /// The current snapshot of the download, followed by a new one after each change, for a user interface.
    ///
    /// ```swift
    /// for await snapshot in download.updates {
    ///     print(snapshot.state, snapshot.progress.fractionCompleted ?? 0)
    /// }
    /// ```
    ///
    /// A reader of this stream is an observer: it doesn't keep the download running, and neither leaving the loop nor
    /// canceling its task affects the download. The stream never throws, and ends after the snapshot whose state is
    /// final, or when the task is canceled. Changes that happen while the reader is busy are combined, and progress is
    /// reported at the interval of ``Downloader/Configuration/progressInterval``. The final snapshot is always
    /// delivered. Each stream has one reader; create another stream for a second one.
    ///
    /// After ``retry()``, a new stream follows the repeated download.
    public var updates: AsyncStream<Snapshot> {
        let observation = SnapshotObservation(self)
        return AsyncStream { await observation.next() }
    }
}

extension Download.Snapshot {
    fileprivate init(id: Download.ID, request: DownloadRequest, _ status: SubscriberStatus) {
        self.init(
            id: id, request: request, state: status.state, progress: status.progress,
            waitingReason: status.waitingReason, error: status.error.map { $0.concerning(request.url) },
            nextAttempt: status.nextAttempt, file: status.file)
    }
}

/// An observation of a download by one stream; it ends when the stream is released.
///
/// The observation holds no reference to the handle, so the handle can be released while a stream is open.
private final class SnapshotObservation: Sendable {
    private let id: Download.ID
    private let request: DownloadRequest
    private let source: Download.Source
    private let observer: ObserverID?
    private let signal: ChangeSignal
    /// The last snapshot that was delivered; a stream has one reader, so nothing else changes it meanwhile.
    private let last = Mutex<Download.Snapshot?>(nil)

    init(_ download: Download) {
        let signal = ChangeSignal()
        (id, request, source) = (download.id, download.request, download.source)
        self.signal = signal
        // The observer is added before the first snapshot is taken, so that no change is missed.
        observer = source.subscription.map { $0.transfer.addObserver($0.subscriber) { signal.send() } }
    }

    deinit {
        guard let observer, let subscription = source.subscription else { return }
        subscription.transfer.removeObserver(observer, of: subscription.subscriber)
    }

    func next() async -> Download.Snapshot? {
        // A waiting task keeps the memory of its variables, so the functions that hold snapshots aren't inlined here.
        while !isEnded, !Task.isCancelled {
            if hasChanged() { return lastSnapshot() }
            await signal.wait()
        }
        return nil
    }

    @inline(never)
    private var isEnded: Bool { last.withLock { $0?.state.isFinal == true } }

    @inline(never)
    private func lastSnapshot() -> Download.Snapshot? { last.withLock { $0 } }

    /// Takes a snapshot, and returns whether it differs from the last one.
    @inline(never)
    private func hasChanged() -> Bool {
        let present = Download.Snapshot(id: id, request: request, source.status)
        return last.withLock { last in
            defer { last = present }
            return last != present
        }
    }
}

/// A signal that something has changed, for one waiting task.
final class ChangeSignal: Sendable {
    private enum State {
        case idle
        case sent
        case waiting(CheckedContinuation<Void, Never>)
    }

    private let state = Mutex(State.idle)

    /// Resumes the waiting task; if no task is waiting, the next call of `wait()` returns at once.
    func send() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            defer { state = .sent }
            guard case .waiting(let waiter) = state else { return nil }
            return waiter
        }
        waiter?.resume()
    }

    /// Returns when a signal was sent since the last call, or when the task is canceled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isSent = state.withLock { state in
                    if case .sent = state { return true }
                    state = .waiting(continuation)
                    return false
                }
                if isSent { continuation.resume() }
            }
            state.withLock { $0 = .idle }
        } onCancel: {
            send()
        }
    }
}
