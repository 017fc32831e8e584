/// The state that a transfer has only while it has a permit and an open partial file, which go together.
///
/// A run begins when the store has opened the partial file. It ends when the store is asked to close the file, or to
/// verify and place it; by then, every exchange has ended. The next run of the transfer continues with the observations
/// about the server.
struct Run: Sendable {
    /// The step of a run.
    enum Step: Sendable {
        /// Exchanges are in progress; see ``ExchangeProgress/Phase``. Continues with any other step.
        case exchanging
        /// The exchanges are no longer needed. Their ends are awaited, so that they can't affect the next step.
        /// Continues with the follow-up.
        case draining(DrainFollowUp)
        /// A move of the permit to another origin was requested. Continues with `exchanging`; if that origin has no
        /// capacity, the run ends.
        case moving(PermitRequestID)
        /// A fresh URL or an authorization was requested. The permit is kept for a short time, because a URL that is
        /// signed for a minute must not wait for a permit. It isn't kept longer, because the caller may not answer: the
        /// run ends when the timer fires. Continues with `exchanging`, `moving`, or `delaying`.
        case refreshing(RefreshID, timer: TimerID)
        /// The next request has to wait, after a failure with a short delay or because requests to the server are
        /// paced. Continues with `exchanging` or `moving`.
        case delaying(TimerID, isPaced: Bool)
    }

    /// The step after all exchanges have ended, unless the subscribers change their intent in the meantime.
    enum DrainFollowUp: Sendable {
        /// The next request: to the target of a redirect, or in another form.
        case advance
        /// A request for a fresh URL, because the server refuses the present URL with this status.
        case refresh(StatusCode)
        /// A counted failure, and another attempt after a delay.
        case retry(DownloadError)
        /// The next attempt to connect to the origin, after another permit was granted; the origin counts the attempts.
        case awaitOrigin(DownloadError, number: Int, delay: Duration)
        /// The use of the files at the destinations, which the server has confirmed.
        case reuse
        /// A change to another location of the bytes, because the store has failed at the present one.
        case relocate
        /// The end of the transfer, regardless of the subscribers' intent.
        case fail(DownloadError)
    }

    /// The origin for which the permit is valid, or to which it is being moved.
    private(set) var origins: OriginPair
    var step = Step.exchanging
    var exchanges = ExchangeTable()
    var extras: ExtraExchanges
    /// The address of the extra exchanges.
    var extraAddress = ExtraAddress()
    /// The representation of the files at the destinations, which the body of another representation may replace.
    var existing: ExistingRepresentation?
    /// Whether bytes may be written far beyond the other bytes.
    var allowsGaps = true
    /// The secret headers that the partial file has recorded; nil if its checkpoint may state that there are none.
    private var recordedCredentials: HeaderFields?
    private var checkpoints = CheckpointSchedule()
    private var marks = MarkSchedule()
    private var slowness = SlowConnectionPatience()

    /// Creates the first run of a transfer, which begins with ``begin(_:allowsGaps:recordedCredentials:)``.
    init(_ origins: OriginPair, _ extras: ExtraExchanges) {
        (self.origins, self.extras) = (origins, extras)
    }

    /// Begins a run with another permit and another opening; earlier measurements are kept.
    ///
    /// - Parameters:
    ///   - origins: The origin for which the permit is valid.
    ///   - recordedCredentials: The secret headers that the partial file has recorded.
    mutating func begin(_ origins: OriginPair, allowsGaps: Bool, recordedCredentials: HeaderFields?) {
        self.origins = origins
        self.allowsGaps = allowsGaps
        self.recordedCredentials = recordedCredentials
        step = .exchanging
        existing = nil
        checkpoints = CheckpointSchedule()
        // A timer of the last run doesn't count.
        marks = MarkSchedule()
    }

    /// Moves the permit to another origin, as part of the identified request.
    mutating func move(to origins: OriginPair, _ request: PermitRequestID) {
        (self.origins, step) = (origins, .moving(request))
    }

    /// Starts the first exchange, which requests the first missing bytes while no other exchange is in progress.
    mutating func startSole(at now: Duration) {
        precondition(exchanges.isEmpty, "a second exchange that isn't an extra one")
        extraAddress = ExtraAddress()
        step = .exchanging
        extras.requestSent(at: now)
    }

    /// Returns whether the partial file has yet to record these secret headers, and records that it does.
    mutating func recordCredentials(_ credentials: HeaderFields) -> Bool {
        defer { recordedCredentials = credentials }
        return recordedCredentials != credentials
    }

    /// Returns the first exchange that is slower than the minimum rate and should be replaced (rule 59), and counts it
    /// as replaced.
    mutating func takeSlowConnection(_ minimumRate: Int64) -> ExchangeID? {
        for (id, exchange) in exchanges.all where exchange.isReceiving && !exchange.isCanceled && !exchange.isWriting {
            guard let rate = exchange.rate.highest(of: slowness.windowCount), rate < Double(minimumRate) else {
                continue
            }
            slowness.replaced(rate)
            return id
        }
        return nil
    }
}

// MARK: - Checkpoints and marks

extension Run {
    /// Records that the partial file has a checkpoint of an earlier run.
    mutating func foundCheckpoint(at now: Duration) {
        checkpoints.found(at: now)
    }

    /// Records that the partial file is emptied for another representation.
    mutating func representationStarted() {
        checkpoints.reset()
    }

    /// Records that the checkpoint has been written, or that writing it has failed.
    mutating func saved() {
        checkpoints.saved()
    }

    /// Counts written bytes of a resumable file, and returns whether a checkpoint is due.
    mutating func isCheckpointDue(after count: Int, at now: Duration) -> Bool { checkpoints.wrote(count, at: now) }

    /// Counts written bytes, and returns when to mark them.
    ///
    /// - Parameter isReported: Whether the bytes are reported to subscribers now.
    mutating func mark(after count: Int, isReported: Bool, at now: Duration) -> MarkSchedule.Step? {
        marks.wrote(count, at: now, isReported: isReported)
    }

    /// Returns whether written bytes have to be marked, after a delay or because they are reported.
    mutating func isMarkDue(at now: Duration) -> Bool { marks.isDue(at: now) }
}
