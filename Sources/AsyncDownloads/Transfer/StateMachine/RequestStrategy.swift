/// The form and the time of the next request: its bounds, its condition, and its delay.
struct RequestStrategy: Sendable {
    /// The length of bounded requests, which some engines need; nil for unbounded requests, and after a server has
    /// answered a bounded one badly.
    private(set) var window: Int64?
    /// Whether the next partial response only continues the preceding window, so that it isn't reported as a
    /// resumption.
    private(set) var continuesWindows = false
    /// Whether the rest is requested without a condition, and the validator is compared on the client (rule 34).
    private(set) var dropsCondition = false
    /// Whether the condition was dropped for the present URL, which happens only once.
    private var hasDroppedCondition = false
    /// Whether the existing files can't be used, so that the representation is requested even if it is unchanged.
    private(set) var ignoresExisting = false
    /// The number of consecutive wrong responses to range requests.
    private var faultCount = 0
    private var pacing = RequestPacing()

    init(windowLength: Int64?) {
        window = windowLength
    }

    /// Whether requests are bounded.
    var isBounded: Bool { window != nil }

    /// Whether a request without a condition may follow.
    var mayDropCondition: Bool { !hasDroppedCondition }

    /// Returns the request for the bytes from `position` on.
    func range(from position: Int64, validator: Validator?) -> RequestedRange {
        .continuing(at: position, validator: validator, window: window, isConditional: !dropsCondition)
    }

    /// Records a complete response, and returns the delay before the next request; see ``RequestPacing``.
    mutating func delay(afterAnswerOf byteCount: Int64, isComplete: Bool) -> Duration? {
        pacing.delay(afterAnswerOf: byteCount, isComplete: isComplete)
    }

    /// Requests the rest of the object without an end from now on.
    mutating func useUnbounded() {
        window = nil
    }

    /// Omits the condition from the next requests.
    mutating func dropCondition() {
        (dropsCondition, hasDroppedCondition) = (true, true)
    }

    /// Requests the representation even if the existing files are current: a response was inconclusive, or the files
    /// have changed.
    mutating func ignoreExisting() {
        ignoresExisting = true
    }

    /// Sends the condition again, because the bytes were discarded or have another validator.
    mutating func restoreCondition() {
        dropsCondition = false
    }

    /// Resets the counts for another URL, whose server may behave better.
    mutating func addressChanged() {
        faultCount = 0
        hasDroppedCondition = false
    }

    /// Counts a wrong response to a range request, and returns whether it is the first in a row.
    mutating func countFault() -> Bool {
        faultCount += 1
        return faultCount == 1
    }

    /// Records that the server has answered a range request correctly.
    mutating func rangeAnswered() {
        faultCount = 0
    }

    /// Records that a body has started, which the next bounded request only continues.
    mutating func bodyStarted() {
        continuesWindows = isBounded
    }

    /// Records an interruption, after which the next partial response is a resumption.
    mutating func interrupted() {
        continuesWindows = false
    }
}
