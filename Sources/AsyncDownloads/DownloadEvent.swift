/// One step in the life of a download, as ``Download/events`` tells it.
///
/// Progress is coalesced (ten a second by default, the latest value wins); every other event is delivered, in order.
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

    /// Every byte is there; the digest is being checked and the file put in place.
    case verifying

    /// The file is at its destination. The last event.
    case finished(DownloadedFile)
}
