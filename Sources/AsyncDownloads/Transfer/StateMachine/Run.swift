/// What is true of a transfer only while it has a permit and an open partial file, which go together.
///
/// A run begins when the store has opened the partial file. It ends when the store is asked to close the file, or to
/// verify and place it; every exchange has ended before. The next run of the transfer continues with what this one has
/// found out about the server.
struct Run: Sendable {
    /// The step of a run.
    enum Step: Sendable {
        /// Exchanges run; see ``ExchangeProgress/Phase``. Continues with any other step.
        case exchanging
        /// The exchanges are of no more use; their ends are awaited, so that they can't touch what follows. Continues
        /// with what the follow-up says.
        case draining(DrainFollowUp)
        /// A move of the permit to another origin was requested. Continues with `exchanging`; if that has no room, the
        /// run ends.
        case moving(PermitRequestID)
        /// A fresh URL or an authorization was requested. A URL that is signed for a minute must not wait for a permit, and a caller that
        /// doesn't answer must not keep one: the run ends when the timer fires. Continues with `exchanging`, `moving` or
        /// `delaying`.
        case refreshing(RefreshID, timer: TimerID)
        /// The next request has to wait: after a failure whose delay is short, or because the server is paced. Continues
        /// with `exchanging` or `moving`.
        case delaying(TimerID, isPaced: Bool)
    }

    /// The step after all exchanges have ended, unless the subscribers change their intent in the meantime.
    enum DrainFollowUp: Sendable {
        /// The next request: to the target of a redirect, or a different one.
        case advance
        /// A fresh URL, because the server refuses the present one with this status.
        case refresh(StatusCode)
        /// A counted failure, and another attempt after a delay.
        case retry(DownloadError)
        /// The next attempt to connect to the origin, which follows in a permit; the attempts are counted for the origin.
        case awaitOrigin(DownloadError, number: Int, delay: Duration)
        /// The files at the destinations, which the server has confirmed.
        case reuse
        /// Another location of the bytes, because the store has failed at the present one.
        case relocate
        /// The end of the transfer, whatever the subscribers want.
        case fail(DownloadError)
    }

    /// The origin that the permit is for, or is being moved to.
    private(set) var origins: OriginPair
    var step = Step.exchanging
    var exchanges = ExchangeTable()
    var extras: ExtraExchanges
    /// Where the extra exchanges are requested.
    var extraAddress = ExtraAddress()
    /// What the files at the destinations are, which the body of another representation may replace.
    var existing: ExistingRepresentation?
    /// Whether bytes may be written far behind the others.
    var allowsGaps = true
    /// The secret headers that the partial file knows to be sent; nil if its checkpoint may say that there are none.
    private var recordedCredentials: HeaderFields?
    private var checkpoints = CheckpointSchedule()
    private var marks = MarkSchedule()
    private var slowness = SlowConnectionPatience()

    /// Creates the first run of a transfer, which begins with ``begin(_:allowsGaps:recordedCredentials:)``.
    init(_ origins: OriginPair, _ extras: ExtraExchanges) {
        (self.origins, self.extras) = (origins, extras)
    }

    /// Begins a run with another permit and another opening; what earlier ones have measured is kept.
    ///
    /// - Parameters:
    ///   - origins: The origin that the permit is for.
    ///   - recordedCredentials: The secret headers that the partial file knows to be sent.
    mutating func begin(_ origins: OriginPair, allowsGaps: Bool, recordedCredentials: HeaderFields?) {
        self.origins = origins
        self.allowsGaps = allowsGaps
        self.recordedCredentials = recordedCredentials
        step = .exchanging
        existing = nil
        checkpoints = CheckpointSchedule()
    }

    /// Moves the permit to another origin, as the identified request asks.
    mutating func move(to origins: OriginPair, _ request: PermitRequestID) {
        (self.origins, step) = (origins, .moving(request))
    }

    /// Starts the sole exchange of the transfer, which asks for the first missing bytes.
    mutating func startSole(at now: Duration) {
        precondition(exchanges.isEmpty, "a second exchange that isn't an extra one")
        extraAddress = ExtraAddress()
        step = .exchanging
        extras.requestSent(at: now)
    }

    /// Returns whether the partial file doesn't know the secret headers that are sent, and records that it does.
    mutating func recordCredentials(_ credentials: HeaderFields) -> Bool {
        defer { recordedCredentials = credentials }
        return recordedCredentials != credentials
    }

    /// Returns the first exchange that is slower than the minimum rate and should be replaced (rule 59); it counts as
    /// replaced.
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

    /// Records that a checkpoint is written, or could not be.
    mutating func saved() {
        checkpoints.saved()
    }

    /// Counts bytes of a resumable file that were written, and returns whether a checkpoint is due.
    mutating func isCheckpointDue(after count: Int, at now: Duration) -> Bool { checkpoints.wrote(count, at: now) }

    /// Counts bytes that were written, and returns when to mark them.
    ///
    /// - Parameter isReported: Whether the bytes are reported to subscribers now.
    mutating func mark(after count: Int, isReported: Bool, at now: Duration) -> MarkSchedule.Step? {
        marks.wrote(count, at: now, isReported: isReported)
    }

    /// Returns whether written bytes have to be marked, after a delay or because they are reported.
    mutating func isMarkDue(at now: Duration) -> Bool { marks.isDue(at: now) }
}
