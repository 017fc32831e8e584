/// The events that one stream has not delivered yet, and the consumer that waits for one.
///
/// The buffer holds at most 100 unread events, whatever a server does and however slowly the consumer reads. A progress
/// event replaces a progress event that is the last unread one. When the buffer is full, the oldest unread event of the
/// arriving kind is removed, or the oldest of all if none has that kind; ``DownloadEvent/omitted(count:)`` is delivered
/// in its place. The end of the stream is kept apart from the events, so that it is never removed.
struct EventBuffer: Sendable {
    typealias Delivery = Result<DownloadEvent?, DownloadError>

    private struct Unread: Sendable {
        var event: DownloadEvent
        /// The number of events that were removed immediately before this one.
        var omittedCount: Int
    }

    private static let capacity = 100

    private var unread: [Unread] = []
    private var waiter: CheckedContinuation<Delivery, Never>?
    private var end: DownloadError??
    /// Whether a consumer reads this buffer.
    var isClaimed = false
    /// Whether the consumer is an observer, which keeps nothing alive.
    var isObserver = false

    /// Adds an event, or delivers it to the waiting consumer.
    mutating func put(_ event: DownloadEvent) -> [DeferredEffect] {
        guard end == nil else { return [] }
        if let waiter {
            self.waiter = nil
            return [DeferredEffect { waiter.resume(returning: .success(event)) }]
        }
        if case .progress = event, case .progress? = unread.last?.event {
            unread[unread.count - 1].event = event
        } else {
            let omittedCount = unread.count == Self.capacity ? makeRoom(for: event.kind) : 0
            // As many as a small file has, so that the array doesn't grow step by step.
            if unread.isEmpty { unread.reserveCapacity(6) }
            unread.append(Unread(event: event, omittedCount: omittedCount))
        }
        return []
    }

    /// Removes one event, and returns how many are missing before the event that is added next.
    private mutating func makeRoom(for kind: DownloadEvent.Kind) -> Int {
        let index = unread.firstIndex { $0.event.kind == kind } ?? 0
        let removed = unread.remove(at: index)
        // Progress may be coalesced at any time, so it doesn't count as missing.
        let omittedCount = removed.omittedCount + (removed.event.kind == .progress ? 0 : 1)
        guard index < unread.count else { return omittedCount }
        unread[index].omittedCount += omittedCount
        return 0
    }

    /// Ends the stream after its undelivered events, with an error if there is one.
    mutating func finish(_ error: DownloadError?) -> [DeferredEffect] {
        guard end == nil else { return [] }
        end = .some(error)
        guard let waiter else { return [] }
        self.waiter = nil
        let delivery = takeEnd()
        return [DeferredEffect { waiter.resume(returning: delivery) }]
    }

    /// The next delivery, if there is one already.
    mutating func take() -> Delivery? {
        guard let next = unread.first else { return end == nil ? nil : takeEnd() }
        if next.omittedCount > 0 {
            unread[0].omittedCount = 0
            return .success(.omitted(count: next.omittedCount))
        }
        unread.removeFirst()
        return .success(next.event)
    }

    /// Stores a continuation, which is resumed with the next delivery.
    ///
    /// A stream has one consumer. A second one that waits at the same time is an error of the program; the earlier one
    /// then receives the end of the stream, so that it doesn't wait forever.
    mutating func wait(_ continuation: CheckedContinuation<Delivery, Never>) -> [DeferredEffect] {
        let earlier = waiter
        waiter = continuation
        return earlier.map { earlier in [DeferredEffect { earlier.resume(returning: .success(nil)) }] } ?? []
    }

    // The error is thrown once; a consumer that continues to read receives the end.
    private mutating func takeEnd() -> Delivery {
        guard let end, let error = end else { return .success(nil) }
        self.end = .some(nil)
        return .failure(error)
    }
}

/// An effect that is decided under a lock and performed after the lock is released, such as resuming a continuation.
struct DeferredEffect: Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }

    func callAsFunction() { body() }
}
