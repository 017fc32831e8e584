/// The speed at which a handler takes large parts of a body.
///
/// One part says little, because its thread may have been suspended meanwhile. The majority of the last parts decides. A
/// part that takes very long decides alone: while it is passed on an event loop, the loop can't do anything else.
struct HandlerSpeed: Sendable {
    /// The number of fast parts in succession after which slow ones are forgotten.
    private static let memory = 8
    /// The time from which one part is enough.
    private static let longTime = Duration.milliseconds(50)

    /// The number of slow parts that no fast part has followed, at most ``memory``.
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
