/// The speed at which a handler takes large parts of a body.
///
/// The speed is judged by most of the recent parts, because the thread that passed a single one may have been suspended
/// meanwhile. One part that takes very long is enough to make a handler slow: while a part is passed on an event loop,
/// the loop can't do anything else.
struct HandlerSpeed: Sendable {
    /// The number of successive fast parts after which all slow ones are forgotten.
    private static let memory = 8
    /// The time from which a single part makes the handler slow.
    private static let longTime = Duration.milliseconds(50)

    /// The number of slow parts minus the number of fast ones, kept between 0 and ``memory``.
    private var slowCount = 0

    /// Whether the handler takes most parts at less than a gigabyte per second, for example because of a slow disk.
    var isSlow: Bool { slowCount > Self.memory / 2 }

    /// Records the time that the handler took for a part of `byteCount` bytes.
    mutating func took(_ time: Duration, for byteCount: Int) {
        if time >= Self.longTime {
            slowCount = Self.memory
        } else if time > .nanoseconds(byteCount) {
            slowCount = min(slowCount + 1, Self.memory)
        } else {
            slowCount = max(slowCount - 1, 0)
        }
    }
}
