/// An effect that the state machine requests.
///
/// Actions are performed in the order in which they were decided.
enum TransferAction: Sendable {
    // The scheduler.

    /// Request a permit for this origin; answered by `permitGranted` or `permitRefused` with the identifier.
    case requestPermit(OriginPair, PermitRequestID)
    /// Use the permit for another origin; answered by `permitGranted`, or by `moveRefused` if the permit is lost.
    case movePermit(OriginPair, PermitRequestID)
    /// Release the permit, or withdraw the request for one, if there is either.
    case releasePermit
    /// Record what was found out about the connections of a host.
    case recordHost((origin: Origin, observation: HostObservation))
    /// Leave the connections of the host to the other transfers.
    case leaveConnections

    // The store, on a thread that may block.

    /// Open the partial file; answered by `opened`.
    case openPartial(credentials: HeaderFields)
    /// Empty the partial file for this representation; answered by `partialStarted` with the exchange's identifier.
    case startPartial(Representation, exchange: ExchangeID)
    /// Record what the server says of the same representation now.
    case updateRepresentation(Representation)
    /// Save a checkpoint while the exchange's body is held back; answered by `prepared`.
    case recordPartial(IntervalSet, exchange: ExchangeID)
    /// Give the partial file the secret headers that are sent.
    case useCredentials
    /// Record that the present credentials get the same bytes.
    case confirmCredentials
    /// Remove the file from which bytes were imported.
    case removeImportedFile
    /// Let the checkpoint claim these bytes, and no others that it may have claimed before.
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
    /// Treat the exchange as ended, because the engine doesn't end it; what it still reports is ignored.
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
    /// Call `tick` after the delay; one at a time.
    case scheduleTick(Duration)
    /// Call `markDue` after the delay.
    case scheduleMark(Duration)

    // Results.

    /// Emit an event to every subscriber.
    case emit(DownloadEvent)
    /// End the transfer; the last action.
    case end(TransferEnding)
}

/// The end of a transfer.
enum TransferEnding: Sendable {
    /// The file was placed for the subscribers, each of which has its own result.
    case finished([SubscriberID: Result<DownloadedFile, DownloadError>])
    /// The transfer failed; the error says how many bytes are kept.
    case failed(DownloadError)
    /// No subscriber was left; the bytes are on disk.
    case abandoned
    /// The last subscriber has discarded the transfer; nothing is left.
    case discarded
}
