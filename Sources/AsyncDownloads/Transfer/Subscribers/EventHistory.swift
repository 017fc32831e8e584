/// The events of a subscriber that are kept until its first stream is opened.
///
/// The history contains at most 100 events, whatever the server does. Consecutive progress events are replaced by the
/// latest one. If the history is full, the oldest event is removed, and ``DownloadEvent/omitted(count:)`` represents
/// the removed events.
struct EventHistory: Sendable {
    private static let capacity = 100

    private var events: [DownloadEvent] = []
    private var omittedCount = 0

    /// Adds an event.
    mutating func put(_ event: DownloadEvent) {
        if case .progress = event, case .progress? = events.last {
            events[events.count - 1] = event
            return
        }
        if events.count == Self.capacity { omittedCount += events.removeFirst().omissionCount }
        // The number of events of a small file, so that the array doesn't grow repeatedly.
        if events.isEmpty { events.reserveCapacity(6) }
        events.append(event)
    }

    /// The events in order.
    var contents: [DownloadEvent] { omittedCount == 0 ? events : [.omitted(count: omittedCount)] + events }
}

extension DownloadEvent {
    /// The number by which the removal of the event increases the count of omitted events.
    ///
    /// Progress events don't count, because they may be coalesced at any time.
    var omissionCount: Int {
        switch self {
        case .progress: 0
        case .omitted(let count): count
        default: 1
        }
    }
}
