#if ServerStack
/// Chooses the event loops of exchanges.
///
/// Successive exchanges with an origin use the same loop and therefore its connections. Exchanges of different files
/// use all loops equally.
struct LoopChoice: Sendable {
    /// The numbers of running exchanges with each origin, by the positions of their loops.
    private var running: [Origin?: [Int]] = [:]

    /// Returns the position of the loop of an exchange that begins, among `count` loops: that of its neighbor, or the
    /// one that has the fewest exchanges with the origin.
    mutating func begin(with origin: Origin?, beside neighbor: Int? = nil, of count: Int) -> Int {
        let first = Int(UInt(bitPattern: origin.hashValue) % UInt(count))
        return Self.add(to: neighbor, of: &running[origin, default: Array(repeating: 0, count: count)], from: first)
    }

    /// Increments the number of the neighbor's loop; without a neighbor, the smallest number, the first one from a
    /// position on.
    ///
    /// - Returns: The position of the number.
    private static func add(to neighbor: Int?, of numbers: inout [Int], from first: Int) -> Int {
        let choice = neighbor ?? smallest(of: numbers, from: first)
        numbers[choice] += 1
        return choice
    }

    private static func smallest(of numbers: [Int], from first: Int) -> Int {
        var choice = first
        for offset in 1..<numbers.count {
            let position = (first + offset) % numbers.count
            if numbers[position] < numbers[choice] { choice = position }
        }
        return choice
    }

    /// Ends an exchange that began on the loop at a position.
    mutating func end(with origin: Origin?, at position: Int) {
        running[origin]?[position] -= 1
        if running[origin]?.allSatisfy({ $0 == 0 }) ?? false { running[origin] = nil }
    }
}
#endif
