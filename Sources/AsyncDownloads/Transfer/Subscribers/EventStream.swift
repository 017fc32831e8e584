/// The producer of one stream that ``Download/events`` has returned.
///
/// Events are added under the lock of the transfer and delivered without it, in their order: the first thread that finds
/// no delivery in progress delivers until nothing is left, and others only add. The standard library's buffer holds the
/// unread events, at most ``capacity``. It can't replace an event, so each progress event is delivered, and the latest one
/// always is.
final class EventStream: Sendable {
    /// The largest number of unread events; the oldest one is omitted when another is added.
    static let capacity = 1000

    fileprivate enum Item: Sendable {
        case event(DownloadEvent)
        case end(DownloadError?)
    }

    fileprivate struct State: Sendable {
        var items: [Item] = []
        var isDelivering = false
        var deliveredCount = 0
        /// The number of unread events after the last delivery; some may have been read since.
        var unreadCount = 0
        /// The number of omitted events that the reader doesn't know about.
        var omittedCount = 0
        /// Whether the last report of omitted events was delivered.
        var isComplete = false
    }

    private let continuation: AsyncThrowingStream<DownloadEvent, any Error>.Continuation
    private let state = Mutex(State())

    private init(_ continuation: AsyncThrowingStream<DownloadEvent, any Error>.Continuation) {
        self.continuation = continuation
    }

    /// Opens a stream of a subscriber's events.
    ///
    /// A reader whose task is canceled receives an error, even if the cancellation happens between two events: the stream
    /// of a closure, `AsyncThrowingStream(unfolding:)`, would end as if the download had finished.
    static func open(
        of subscriber: SubscriberID, _ transfer: any SubscribedTransfer
    ) -> AsyncThrowingStream<DownloadEvent, any Error> {
        let (events, producer) = make()
        let reader = WeakReference(toStorageOf: events)
        let continuation = producer.continuation
        let stream = transfer.openStream(subscriber, producer)
        continuation.onTermination = { termination in
            guard case .cancelled = termination else { return }
            // A released stream is reported as canceled, too. Its storage doesn't exist anymore, whereas that of a task
            // that waits for an event, or asks for the next one, does.
            let isCancellation = Task.isCancelled || reader.isAlive
            // The first error that a stream is finished with is the one that its reader receives.
            continuation.finish(
                throwing: transfer.closeStream(subscriber, stream: stream, isCancellation: isCancellation))
        }
        return events
    }

    /// Creates a stream that isn't open yet, and its producer.
    static func make() -> (events: AsyncThrowingStream<DownloadEvent, any Error>, producer: EventStream) {
        let (events, continuation) = AsyncThrowingStream<DownloadEvent, any Error>.makeStream(
            bufferingPolicy: .bufferingNewest(capacity))
        return (events, EventStream(continuation))
    }

    /// The number of events that the reader has received or can read; -1 while others are being delivered.
    var deliveredCount: Int { state.withLock { $0.isDelivering ? -1 : $0.deliveredCount } }

    /// Adds events; the returned effect delivers them.
    func put(_ events: [DownloadEvent]) -> [DeferredEffect] { add(events.map(Item.event)) }

    /// Ends the stream after its events, with an error if there is one.
    func finish(_ error: DownloadError?) -> [DeferredEffect] { add([.end(error)]) }

    private func add(_ items: [Item]) -> [DeferredEffect] {
        let isFirst = state.withLock { state in
            state.items += items
            defer { state.isDelivering = true }
            return !state.isDelivering
        }
        return isFirst ? [DeferredEffect { [self] in deliver() }] : []
    }

    private func deliver() {
        while let item = state.withLock({ $0.next() }) {
            switch item {
            case .event(let event):
                let result = continuation.yield(event)
                state.withLock { $0.yielded(result) }
            case .end(let error):
                continuation.finish(throwing: error)
            }
        }
    }
}

extension EventStream.State {
    /// Removes and returns the next item to deliver; nil ends the delivery.
    fileprivate mutating func next() -> EventStream.Item? {
        if !items.isEmpty {
            if omittedCount > 0, unreadCount < EventStream.capacity || isEnding {
                defer { (omittedCount, isComplete) = (0, isEnding) }
                return .event(.omitted(count: omittedCount))
            }
            return items.removeFirst()
        }
        isDelivering = false
        return nil
    }

    /// Whether the stream ends after the next event, and the last report of omitted events is still due.
    private var isEnding: Bool {
        switch items.last {
        case .end?: items.count <= 2 && !isComplete
        case .event?, nil: false
        }
    }

    /// Records what has happened to the unread events.
    fileprivate mutating func yielded(
        _ result: AsyncThrowingStream<DownloadEvent, any Error>.Continuation.YieldResult
    ) {
        deliveredCount += 1
        switch result {
        case .enqueued(let remaining):
            unreadCount = EventStream.capacity - remaining
        case .dropped(let oldest):
            unreadCount = EventStream.capacity
            omittedCount += oldest.omissionCount
        case .terminated:
            break
        @unknown default:
            break
        }
    }
}

/// A weak reference to the object that a stream and its iterators share.
///
/// The standard library calls `onTermination` with the same value for a canceled reader and for a released stream. Only
/// the lifetime of this object distinguishes them.
private final class WeakReference: @unchecked Sendable {  // The reference is set once, before it is shared.
    private weak var object: AnyObject?

    init(toStorageOf stream: AsyncThrowingStream<DownloadEvent, any Error>) {
        object = Mirror(reflecting: stream).children.lazy.map(\.value).first { type(of: $0) is AnyClass } as AnyObject?
    }

    /// Whether the object exists.
    var isAlive: Bool { object != nil }
}
