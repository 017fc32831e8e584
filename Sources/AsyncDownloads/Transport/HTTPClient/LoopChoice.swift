/// Chooses the event loop of each exchange.
///
/// Successive exchanges with an origin use the same loop and therefore its connections. Exchanges of different files use
/// all loops, but a further exchange of a file uses the loop of its neighbor: threads that write to one file wait for
/// each other, which made four connections a sixth slower than one.
struct LoopChoice: Sendable {
    private let count: Int
    /// The number of running exchanges with each origin that have no neighbor.
    private var running: [Origin?: Int] = [:]

    init(count: Int) {
        self.count = count
    }

    /// Returns the position of the loop of an exchange that begins without a neighbor.
    mutating func begin(with origin: Origin?) -> Int {
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
