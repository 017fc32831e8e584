#if ServerStack
/// Chooses the event loops of exchanges that have no neighbor.
///
/// Successive exchanges with an origin use the same loop and therefore its connections. Exchanges of different files use
/// all loops. A further exchange of a file uses the loop of its neighbor, and isn't counted.
struct LoopChoice: Sendable {
    /// The number of running exchanges with each origin.
    private var running: [Origin?: Int] = [:]

    /// Returns the position of the loop of an exchange that begins, among `count` loops.
    mutating func begin(with origin: Origin?, of count: Int) -> Int {
        let runningCount = running[origin, default: 0]
        running[origin] = runningCount + 1
        return Int((UInt(bitPattern: origin.hashValue) &+ UInt(runningCount)) % UInt(count))
    }

    /// Handles the end of such an exchange.
    mutating func end(with origin: Origin?) {
        guard let runningCount = running[origin] else { return }
        running[origin] = runningCount == 1 ? nil : runningCount - 1
    }
}
#endif
