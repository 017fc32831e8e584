/// An effect that the state machine requests.
///
/// Actions are performed in the order in which they were decided.
enum TransferAction: Sendable {
    // The scheduler.

    /// Request a permit for this origin; answered by `permitGranted` or `permitRefused` with the identifier.
    case requestPermit(OriginPair, PermitRequestID)
    /// Move the permit to another origin; answered by `permitGranted`, or by `moveRefused` if the permit is lost.
    case movePermit(OriginPair, PermitRequestID)
    /// Release the permit, or withdraw the request for one, if either exists.
    case releasePermit
    /// Record the observations about the connections of a host.
    case recordHost((origin: Origin, observation: HostObservation))
    /// Release the transfer's share of the host's connections.
    case leaveConnections

    // The store, on a thread that may block.

    /// Open the partial file; answered by `opened`.
    case openPartial(credentials: HeaderFields)
    /// Empty the partial file for this representation; answered by `partialStarted` with the exchange's identifier.
    case startPartial(Representation, exchange: ExchangeID)
    /// Record the server's present description of the same representation.
    case updateRepresentation(Representation)
    /// Save a checkpoint while the exchange's body is held back; answered by `prepared`.
    case recordPartial(IntervalSet, exchange: ExchangeID)
    /// Pass the secret headers in use to the partial file.
    case useCredentials
    /// Record that the server sends the same bytes for the present credentials.
    case confirmCredentials
    /// Remove the file from which bytes were imported.
    case removeImportedFile
    /// Change the checkpoint so that it contains only these bytes.
    case rollBackPartial(IntervalSet, epoch: Int)
    /// Mark these bytes as written, in case the process is killed.
    case markPartial(IntervalSet, epoch: Int)
    /// Save a checkpoint while the exchange continues; answered by `saved`.
    case savePartial(IntervalSet)
    /// Save the bytes unless they are nil, and close the partial file; answered by `closed`.
    case closePartial(saving: IntervalSet?)
    /// Remove the partial file and its checkpoint; answered by `closed`.
    case discardPartial
    /// Verify the complete file and place it; answered by `finished`.
    ///
    /// Bytes that only a checksum can verify are verified first; if they don't match, they are removed, and the result
    /// is a failure.
    case finishPartial(length: Int64, Representation, verifying: Checksum?)

    // The engine.

    /// Start an exchange.
    case startExchange(ExchangeID, ExchangeRequest)
    /// Cancel the exchange; its end is still reported.
    case cancelExchange(ExchangeID)
    /// Treat the exchange as ended, because the engine doesn't end it; later reports are ignored.
    case abandonExchange(ExchangeID)
    /// Let the exchange's body flow.
    case openGate(exchange: ExchangeID)

    // The subscribers.

    /// Request a fresh URL from a subscriber; answered by `supplied` with the identifier.
    case refreshURL(URLRefresh.Context, RefreshID)
    /// Request secret headers from a subscriber; answered by `supplied` with the identifier.
    case authorize(AuthorizationRequest, RefreshID)
    /// Cancel the request for a fresh URL or for secret headers.
    case cancelRefresh

    // Time.

    /// Call `retryDue` with the identifier after the delay.
    case scheduleRetry(Duration, TimerID)
    /// Call `tick` after the delay; at most one such timer is active.
    case scheduleTick(Duration)
    /// Call `markDue` after the delay.
    case scheduleMark(Duration)

    // Results.

    /// Emit an event to every subscriber.
    case emit(DownloadEvent)
    /// End the transfer; this is the last action.
    case end(TransferEnding)
}

/// The end of a transfer.
enum TransferEnding: Sendable {
    /// The file was placed for the subscribers; each of them has its own result.
    case finished([SubscriberID: Result<DownloadedFile, DownloadError>])
    /// The transfer failed; the error contains the number of retained bytes.
    case failed(DownloadError)
    /// No subscribers are left; the bytes are on disk.
    case abandoned
    /// The last subscriber has discarded the transfer; its bytes were removed.
    case discarded
}
