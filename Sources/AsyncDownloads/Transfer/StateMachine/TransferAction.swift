/// What the state machine wants done.
///
/// Actions are carried out in the order in which they were decided.
enum TransferAction: Sendable {
    // The scheduler.

    /// Ask for a permit to talk to this host; answered by `permitGranted` with this number.
    case requestPermit(host: String, PermitRequestID)
    /// Use the permit for another host; answered by `permitGranted`, or by `moveRefused` when the permit is gone.
    case movePermit(host: String, PermitRequestID)
    /// Give the permit back, or withdraw the request for one.
    case releasePermit

    // The store, on a thread that may block.

    /// Open the partial; answered by `opened`.
    case openPartial
    /// Begin an empty partial for this representation; answered by `began` with the exchange's number.
    case startPartial(Representation, exchange: ExchangeID)
    /// Note what the server says of the same representation now.
    case updateRepresentation(Representation)
    /// Save a checkpoint of what was adopted while exchange's body is held back; answered by `prepared`.
    case recordPartial(IntervalSet, exchange: ExchangeID)
    /// Send these secret headers from now on.
    case useCredentials(HeaderFields)
    /// Note that the bytes are proven to be those of the present credentials.
    case confirmCredentials
    /// Remove the file that bytes were imported from.
    case removeImportedFile
    /// Let the record claim these bytes and no others that it may have claimed before.
    case rollBackPartial(IntervalSet)
    /// Note cheaply that these bytes are written, for a process that is killed.
    case markPartial(IntervalSet)
    /// Save a checkpoint beside the running exchange; answered by `saved`.
    case savePartial(IntervalSet)
    /// Save, where there is something to save, and close; answered by `closed`.
    case closePartial(saving: IntervalSet?)
    /// Remove every trace and close; answered by `closed`.
    case discardPartial
    /// Verify the whole file of this length and put it in place; answered by `finished`.
    ///
    /// Bytes under several validators that do not have the expected digest are removed, and that is a failure.
    case finishPartial(length: Int64, Representation, verifying: Checksum?)

    // The engine.

    /// Start an exchange under this number.
    case startExchange(ExchangeID, ExchangeRequest)
    /// Cancel the exchange; its end is still reported.
    case cancelExchange(ExchangeID)
    /// Take the exchange for ended, since the engine does not end it; what it still reports is ignored.
    case abandonExchange(ExchangeID)
    /// Let the exchange's body flow.
    case openGate(exchange: ExchangeID)

    // The callers.

    /// Ask a caller for a fresh URL; answered by `refreshed` with this number.
    case refreshURL(URLRefresh.Context, RefreshID)
    /// Forget about the fresh URL that was asked for.
    case cancelRefresh

    // Time.

    /// Wake up after the delay with `retryDue` and this number.
    case scheduleRetry(Duration, TimerID)
    /// Wake up after the delay with `tick`; one at a time.
    case scheduleTick(Duration)
    /// Wake up after the delay with `markDue`.
    case scheduleMark(Duration)

    // The subscribers.

    /// Tell every subscriber.
    case emit(DownloadEvent)
    /// The transfer is over. The last action of all.
    case end(TransferEnding)
}

/// How a transfer is over.
enum TransferEnding: Sendable {
    /// The file was put in place for those who were there; each has its own result.
    case finished([Int: Result<DownloadedFile, DownloadError>])
    /// It failed, with as many bytes kept as the error says.
    case failed(DownloadError)
    /// Nobody was left; the bytes are on disk.
    case abandoned
    /// It was discarded; nothing is left.
    case discarded
}
