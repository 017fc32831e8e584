/// What one event stream has still to deliver, and who waits for it.
///
/// A progress event replaces one that nobody has taken yet, so a slow consumer costs no memory; all others keep their
/// order. A mailbox that nobody reads keeps the latest hundred.
struct Mailbox: Sendable {
    typealias Delivery = Result<DownloadEvent?, DownloadError>

    private static let capacity = 100

    private var events: [DownloadEvent] = []
    private var waiter: CheckedContinuation<Delivery, Never>?
    private var end: DownloadError??
    /// Whether a consumer has been given this mailbox.
    var isClaimed = false
    /// Whether that consumer only looks on: nobody who waits for the file.
    var isOnlooker = false

    /// Puts an event in, or hands it to the waiting consumer.
    mutating func put(_ event: DownloadEvent) -> [Wakeup] {
        guard end == nil else { return [] }
        if let waiter {
            self.waiter = nil
            return [Wakeup { waiter.resume(returning: .success(event)) }]
        }
        if case .progress = event, case .progress? = events.last {
            events[events.count - 1] = event
        } else {
            events.append(event)
            if !isClaimed, events.count > Self.capacity { events.removeFirst() }
        }
        return []
    }

    /// Ends the stream after what is in it: with an error, or in order.
    mutating func finish(_ error: DownloadError?) -> [Wakeup] {
        guard end == nil else { return [] }
        end = .some(error)
        guard let waiter else { return [] }
        self.waiter = nil
        let delivery = takeEnd()
        return [Wakeup { waiter.resume(returning: delivery) }]
    }

    /// The next delivery, if there is one already.
    mutating func take() -> Delivery? {
        if !events.isEmpty { return .success(events.removeFirst()) }
        return end == nil ? nil : takeEnd()
    }

    /// Leaves a continuation to be resumed with the next delivery.
    ///
    /// A stream has one consumer; a second one that waits at the same time would be an error of the program, and the
    /// earlier gets the end rather than hang.
    mutating func wait(_ continuation: CheckedContinuation<Delivery, Never>) -> [Wakeup] {
        let earlier = waiter
        waiter = continuation
        return earlier.map { earlier in [Wakeup { earlier.resume(returning: .success(nil)) }] } ?? []
    }

    // The error is thrown once; a consumer that asks again after it gets the end.
    private mutating func takeEnd() -> Delivery {
        guard let end, let error = end else { return .success(nil) }
        self.end = .some(nil)
        return .failure(error)
    }
}

/// A continuation to be resumed, or the like, as soon as no lock is held.
struct Wakeup: Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }

    func callAsFunction() { body() }
}
