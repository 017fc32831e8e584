extension Download {
    /// The events of the download, as an asynchronous stream.
    ///
    /// The first stream that is created delivers all events since the download started; later streams begin with the
    /// current state. A stream stays open across pauses. It ends after ``DownloadEvent/finished(_:)``, or by throwing
    /// the ``DownloadError`` that ended the download. Each stream has one consumer; create another stream for a second
    /// one.
    ///
    /// Progress that a slow consumer hasn't read is replaced by later progress. Other events are kept until a hundred
    /// are unread; ``DownloadEvent/omitted(count:)`` reports how many are omitted after that.
    ///
    /// Canceling the task that reads the stream cancels this download, unless something else reads or awaits this
    /// handle. The loop then ends; if it was waiting for an event, it throws ``DownloadError/Code/cancelled``. Leaving
    /// the loop without a cancellation has no effect on the download.
    public var events: AsyncThrowingStream<DownloadEvent, any Error> {
        switch source {
        case .refused(let error):
            return AsyncThrowingStream { throw error }
        case .subscriber(let subscriber, let transfer): return Self.stream(transfer, subscriber)
        }
    }

    /// The events from the current state on, for an observer.
    ///
    /// An observer doesn't keep the transfer running, and ending its stream doesn't affect the download.
    var updates: AsyncThrowingStream<DownloadEvent, any Error> {
        guard let (transfer, subscriber) = subscription else { return events }
        return Self.stream(transfer, subscriber, isObserver: true)
    }

    private static func stream(
        _ transfer: any SubscribedTransfer, _ subscriber: SubscriberID, isObserver: Bool = false
    ) -> AsyncThrowingStream<DownloadEvent, any Error> {
        let lease = EventStreamLease(transfer: transfer, subscriber: subscriber, isObserver: isObserver)
        return AsyncThrowingStream { try await lease.next() }
    }
}

extension Download {
    /// The state of a download.
    public typealias State = DownloadState

    /// The current state of the download, followed by each change.
    ///
    /// The stream ends after a final state. States that pass while the consumer isn't reading may be omitted; the final
    /// state never is. A reader of this stream is an observer: it doesn't keep the transfer running, and neither ending
    /// the loop nor canceling its task affects the download.
    public var states: AsyncStream<State> {
        let events = Mutex(Optional(StateEvents(self)))
        return AsyncStream {
            // A stream has one consumer, so no other call can run between the two accesses.
            guard var current = events.withLock({ $0 }) else { return nil }
            let state = await current.next()
            events.withLock { $0 = state == nil ? nil : current }
            return state
        }
    }
}

/// The conversion of a download's events into its states.
private struct StateEvents: Sendable {
    private let download: Download
    private let events: AsyncThrowingStream<DownloadEvent, any Error>
    private var last: Download.State?

    init(_ download: Download) {
        self.download = download
        events = download.updates
    }

    mutating func next() async -> Download.State? {
        if last?.isFinal == true { return nil }
        if last == nil { return take(download.state) }
        var iterator = events.makeAsyncIterator()
        while true {
            // An event indicates only that something has changed; the download itself provides the current state.
            let event = try? await iterator.next()
            let state = download.state
            if state != last { return take(state) }
            if event == nil { return nil }
        }
    }

    private mutating func take(_ state: Download.State) -> Download.State {
        last = state
        return state
    }
}

/// The right to read one event stream, which is closed when nothing can read it anymore.
private final class EventStreamLease: Sendable {
    private let transfer: any SubscribedTransfer
    private let subscriber: SubscriberID
    private let isObserver: Bool
    private let stream: StreamID

    init(transfer: any SubscribedTransfer, subscriber: SubscriberID, isObserver: Bool) {
        self.transfer = transfer
        self.subscriber = subscriber
        self.isObserver = isObserver
        stream = transfer.openStream(subscriber, isObserver: isObserver)
    }

    func next() async throws(DownloadError) -> DownloadEvent? {
        try await transfer.nextEvent(subscriber, stream: stream, isObserver: isObserver)
    }

    deinit {
        // A canceled task may release its stream without waiting for an event; this also counts as a cancellation.
        transfer.closeStream(subscriber, stream: stream, cancelled: Task.isCancelled)
    }
}
