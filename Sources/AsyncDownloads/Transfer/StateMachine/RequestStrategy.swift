/// The form and the time of the next request: bounded or not, its condition, and its delay.
struct RequestStrategy: Sendable {
    /// The length of a bounded request where the engine needs one; nil for unbounded requests.
    private let windowLength: Int64?
    /// Whether bounded requests are used; not any more after a server has answered one badly.
    private var usesWindows: Bool
    /// Whether the next partial response merely follows the one before, so that it isn't reported as a resumption.
    private(set) var continuesWindows = false
    /// Whether the rest is requested without a condition, and the validator is compared here (rule 34).
    private(set) var dropsCondition = false
    /// Whether the condition was dropped before; it is dropped once per URL.
    private var hasDroppedCondition = false
    /// Whether the existing files are of no use, so that the representation is requested whether it has changed or not.
    private(set) var ignoresExisting = false
    /// The number of consecutive responses that answered the range wrongly.
    private var faultCount = 0
    private var pacing = RequestPacing()

    init(windowLength: Int64?) {
        self.windowLength = windowLength
        usesWindows = windowLength != nil
    }

    /// Whether requests are bounded.
    var isBounded: Bool { usesWindows }

    /// The length of bounded requests; nil while requests are unbounded.
    var window: Int64? { usesWindows ? windowLength : nil }

    /// Whether a request without a condition may follow.
    var mayDropCondition: Bool { !hasDroppedCondition }

    /// The request for the bytes from `position` on.
    func range(from position: Int64, validator: Validator?) -> RequestedRange {
        .continuing(
            at: position, validator: validator, window: usesWindows ? windowLength : nil, isConditional: !dropsCondition
        )
    }

    /// Records a complete response, and returns how long the next request has to wait; see ``RequestPacing``.
    mutating func delay(afterAnswerOf byteCount: Int64, isComplete: Bool) -> Duration? {
        pacing.delay(afterAnswerOf: byteCount, isComplete: isComplete)
    }

    /// Requests the rest without an end from now on.
    mutating func useUnbounded() {
        usesWindows = false
    }

    /// Sends no condition with the next requests.
    mutating func dropCondition() {
        (dropsCondition, hasDroppedCondition) = (true, true)
    }

    /// Requests the representation whether the existing files are current or not: a response has left it open, or they were
    /// changed.
    mutating func ignoreExisting() {
        ignoresExisting = true
    }

    /// Sends the condition again: the bytes were discarded, or have another validator.
    mutating func restoreCondition() {
        dropsCondition = false
    }

    /// Starts again with another URL, whose server may behave better.
    mutating func addressChanged() {
        faultCount = 0
        hasDroppedCondition = false
    }

    /// Counts a wrong answer to a range, and returns whether it was the first one in a row.
    mutating func countFault() -> Bool {
        faultCount += 1
        return faultCount == 1
    }

    /// Records that a range was answered correctly.
    mutating func rangeAnswered() {
        faultCount = 0
    }

    /// Records that a body flows, which the next bounded request merely continues.
    mutating func bodyStarted() {
        continuesWindows = usesWindows
    }

    /// Records an interruption, after which the next partial response is a resumption.
    mutating func interrupted() {
        continuesWindows = false
    }
}
