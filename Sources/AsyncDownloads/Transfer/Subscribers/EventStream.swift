/// The producer of one stream that ``Download/events`` has returned.
///
/// Events are added under the lock of the transfer and delivered without it, in order. The first thread that finds no
/// delivery in progress delivers events until none is left; other threads only add. The standard library's buffer holds
/// at most ``capacity`` unread events. It can't replace an event, so every progress event is added, and the latest
/// event is never dropped.
final class EventStream: Sendable {
    /// The maximum number of unread events; when another event is added, the oldest one is omitted.
    static let capacity = 1000

    fileprivate enum Item: Sendable {
        case event(DownloadEvent)
        case end(DownloadError?)
    }

    fileprivate struct State: Sendable {
        var items: [Item] = []
        var isDelivering = false
        var deliveredCount = 0
        /// The number of unread events after the last delivery; the reader may have read some of them since.
        var unreadCount = 0
        /// The number of omitted events that have not been reported to the reader.
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
    /// A reader whose task is canceled receives an error, even between two events. A stream created by
    /// `AsyncThrowingStream(unfolding:)` would end without an error instead, as if the download had finished.
    static func open(
        of subscriber: SubscriberID, _ transfer: any SubscribedTransfer
    ) -> AsyncThrowingStream<DownloadEvent, any Error> {
        let (events, producer) = make()
        let reader = WeakReference(toStorageOf: events)
        let continuation = producer.continuation
        let stream = transfer.openStream(subscriber, producer)
        continuation.onTermination = { termination in
            guard case .cancelled = termination else { return }
            // A released stream is also reported as canceled. Its storage no longer exists, whereas the storage still
            // exists while a canceled task waits for an event or requests the next one.
            let isCancellation = Task.isCancelled || reader.isAlive
            // The reader receives the first error with which the stream is finished.
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

    /// The number of events that the reader has received or can read; -1 while a delivery is in progress.
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

    /// Whether the stream ends after at most one more event, and a final report of omitted events is still due.
    private var isEnding: Bool {
        switch items.last {
        case .end?: items.count <= 2 && !isComplete
        case .event?, nil: false
        }
    }

    /// Records the result of the delivery of an event.
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
    typealias Stream = AsyncThrowingStream<DownloadEvent, any Error>

    private weak var object: AnyObject?

    init(toStorageOf stream: Stream) {
        object = Self.isStreamOneReference ? unsafeBitCast(stream, to: AnyObject.self) : Self.storage(of: stream)
    }

    /// Whether a stream consists of the reference to its storage only.
    ///
    /// If so, reading it takes a small part of the time of the search in the stream's mirror.
    private static let isStreamOneReference: Bool = {
        let stream = Stream { nil }
        guard MemoryLayout<Stream>.size == MemoryLayout<AnyObject>.size, let storage = storage(of: stream) else {
            return false
        }
        return withUnsafeBytes(of: stream) { $0.loadUnaligned(as: UnsafeRawPointer.self) }
            == UnsafeRawPointer(Unmanaged.passUnretained(storage).toOpaque())
    }()

    private static func storage(of stream: Stream) -> AnyObject? {
        Mirror(reflecting: stream).children.lazy.map(\.value).first { type(of: $0) is AnyClass } as AnyObject?
    }

    /// Whether the object exists.
    var isAlive: Bool { object != nil }
}
