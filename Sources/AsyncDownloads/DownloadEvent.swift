/// An event of a download, as reported by ``Download/events``.
///
/// ```swift
/// for try await event in download.events {
///     switch event {
///     case .progress(let progress): print(progress.fractionCompleted ?? 0)
///     case .restarted(let reason, let count): print("\(count) bytes discarded: \(reason)")
///     default: break
///     }
/// }
/// ```
///
/// By default, at most ten progress events per second are emitted. All events are delivered in order. If a consumer has
/// a thousand unread events, some are omitted, and ``omitted(count:)`` reports how many. Later versions may add cases,
/// so include a default case when you switch on an event.
#if hasAttribute(nonexhaustive)
@nonexhaustive(warn)
#endif
public enum DownloadEvent: Sendable {
    /// The download is waiting, for example for its turn.
    case waiting(reason: WaitingReason)

    /// The first response of the server was accepted.
    ///
    /// - Parameters:
    ///   - expectedByteCount: The length of the whole file in bytes, if the server reported it.
    ///   - isResumable: Whether an interruption loses no bytes, which requires a strong validator and a body without a
    ///     content coding.
    ///   - suggestedName: The file name that the server suggests (RFC 6266), sanitized. It is `nil` in a background
    ///     session.
    ///   - contentType: The media type, exactly as the server sent it. It is `nil` in a background session.
    case started(expectedByteCount: Int64?, isResumable: Bool, suggestedName: String?, contentType: String?)

    /// The server confirmed the range, and the download continues at this offset in bytes.
    case resumed(fromOffset: Int64)

    /// Received bytes were discarded, and the download restarts at offset zero or at the end of the remaining bytes.
    case restarted(reason: RestartReason, discardedByteCount: Int64)

    /// Bytes were received.
    case progress(DownloadProgress)

    /// An attempt failed; the retry with the number `attempt` starts after `delay`, or, if that is zero, when it is the
    /// download's turn, for example after other downloads have waited for the origin.
    ///
    /// The number counts all retries since new bytes were last received, including retries that
    /// ``RetryPolicy/maximumRetries`` doesn't limit because the server requested the delay. While an origin refuses or
    /// fails to handle every request, only some of the attempts are counted and reported.
    // Errors and files are stored indirectly, because most events have neither, and many buffers hold events.
    indirect case retrying(attempt: Int, delay: Duration, error: DownloadError)

    /// The download is paused, and this number of bytes is stored: on disk, where a later process can find them, or in
    /// memory if the result is delivered in memory.
    case paused(receivedByteCount: Int64)

    /// The bytes of a paused download were released from memory.
    ///
    /// The reason is memory pressure or a call of ``Downloader/purgePaused(discardingBytes:)``. The bytes were moved to
    /// disk if `isOnDisk` is true, and discarded otherwise. Discarded bytes are fetched again after the pause. Only
    /// downloads into memory keep bytes in memory.
    case released(byteCount: Int64, isOnDisk: Bool)

    /// Events were omitted because this consumer reads too slowly.
    ///
    /// A stream buffers at most a thousand unread events, so that neither a slow consumer nor a server that causes
    /// endless events can exhaust memory. When the buffer is full, the oldest unread event is omitted. This event is
    /// delivered as soon as the buffer has space, or before the last event. The last event and the error that ends a
    /// stream are never omitted.
    ///
    /// - Parameter count: The number of events that were omitted since the last report, not counting progress. Up to
    ///   two more events, displaced by the last report and the last event, aren't counted.
    case omitted(count: Int)

    /// Every byte has been received; the digest is being verified, and the file is being placed at its destination.
    case verifying

    /// The file is at its destination; this is the last event.
    indirect case finished(DownloadedFile)
}
