/// One step in the life of a download, as ``Download/events`` tells it.
///
/// Progress is coalesced (ten a second by default, the latest value wins); every other event is delivered in order to a
/// consumer that keeps up. One that leaves a hundred events unread misses some, and ``omitted(count:)`` says how many.
/// More cases may come: switch with a default.
public enum DownloadEvent: Sendable {
    /// The download waits for its turn.
    case waiting

    /// The server's first answer was accepted.
    ///
    /// - Parameters:
    ///   - expectedByteCount: The length of the whole file, where the server told it.
    ///   - isResumable: Whether an interruption would cost nothing: there is a strong validator.
    case started(expectedByteCount: Int64?, isResumable: Bool)

    /// The server confirmed the range: the download goes on from this offset in bytes.
    case resumed(fromOffset: Int64)

    /// Bytes were given up, and the download begins again at zero, or at the end of what is still there.
    case restarted(reason: RestartReason, discardedByteCount: Int64)

    /// Bytes arrived.
    case progress(DownloadProgress)

    /// An attempt failed; the next one, whose number among the retries is `attempt`, begins after `delay`.
    case retrying(attempt: Int, delay: Duration, error: DownloadError)

    /// The download is paused, and so many bytes are on disk: what another process would find.
    case paused(receivedByteCount: Int64)

    /// Memory was short while the download was paused, and its bytes left it: for the disk, or for good.
    ///
    /// What is not on disk is fetched again after the pause. Only downloads into memory hold bytes there.
    case released(byteCount: Int64, isOnDisk: Bool)

    /// Events of which this consumer has read none were left out, since it reads too slowly.
    ///
    /// A stream holds at most a hundred unread events, so that neither a slow consumer nor a server that causes events
    /// without end takes memory without end. When it is full, the oldest unread event of the kind that arrives gives way, or
    /// the oldest of all where none is of that kind. This event comes once in their place, before the next event after
    /// the gap. The last event and the error that ends a stream are never left out.
    ///
    /// - Parameter count: How many events were left out there, progress not counted.
    case omitted(count: Int)

    /// Every byte is there; the digest is being checked and the file put in place.
    case verifying

    /// The file is at its destination. The last event.
    case finished(DownloadedFile)
}

extension DownloadEvent {
    /// What an event is about, without its values: events of one kind may stand for each other where a consumer is slow.
    enum Kind: Sendable, Hashable {
        case waiting, started, resumed, restarted, progress, retrying, paused, released, omitted, verifying, finished
    }

    var kind: Kind {
        switch self {
        case .waiting: .waiting
        case .started: .started
        case .resumed: .resumed
        case .restarted: .restarted
        case .progress: .progress
        case .retrying: .retrying
        case .paused: .paused
        case .released: .released
        case .omitted: .omitted
        case .verifying: .verifying
        case .finished: .finished
        }
    }
}
