#if ServerStack
internal import Dispatch
internal import NIOCore
internal import NIOPosix

/// The event loops that all transports over SwiftNIO in the process share; created once and never shut down.
///
/// The package doesn't use NIO's shared event loop group, because bytes are written to disk on the loops, which must
/// not delay other libraries. On Apple's platforms, the shared group uses Network.framework, whose channels end the
/// process if they receive the channel options that this transport sets.
enum EventLoops {
    /// All event loops.
    static let all: [DeliveryLoop] =
        MultiThreadedEventLoopGroup(numberOfThreads: count).makeIterator().map { DeliveryLoop(eventLoop: $0) }

    /// The number of file descriptors that must be available before the loops are created.
    ///
    /// NIO ends the process if it can't open the three descriptors of each loop. Other threads may open more
    /// descriptors between the check and the creation, for a partial file and its lock, or in libdispatch to examine
    /// its threads.
    static var descriptorCount: Int { 3 * count + 4 }

    private static var count: Int { NIOSingletons.groupLoopCountSuggestion }
}

/// An event loop, with the queue, clock, and buffers that its exchanges share.
final class DeliveryLoop: Sendable {
    let eventLoop: any EventLoop
    /// The queue on which large parts are passed to their handlers while the loop reads the next ones.
    let queue = DispatchQueue(label: "async-downloads.delivery", qos: .userInitiated)
    /// The clock that measures the callbacks on the loop.
    let clock = CallbackClock()
    /// The buffers into which connections without TLS read.
    let buffers = ReadBuffers()
    /// The buffers into which connections with TLS read, in the engine over SwiftNIO.
    let secureBuffers = ReadBuffers(length: ReadBuffers.secureLength)

    private let largeBodies = Mutex(0)

    init(eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// The number of exchanges that have received a large part and have not ended.
    var largeBodyCount: Int { largeBodies.withLock { $0 } }

    /// Counts an exchange that has received a large part.
    func beginLargeBody() { changeLargeBodies(by: 1) }

    /// Removes an exchange from the count of ``beginLargeBody()``.
    func endLargeBody() { changeLargeBodies(by: -1) }

    private func changeLargeBodies(by difference: Int) {
        largeBodies.withLock { count in
            count += difference
            // The buffers are adapted under the lock, so that the last count takes effect.
            buffers.adapt(toLargeBodies: count)
            secureBuffers.adapt(toLargeBodies: count)
        }
    }
}

/// The choice of event loops for exchanges.
///
/// Successive exchanges with an origin use the same loop, and therefore its connections. Simultaneous exchanges of
/// different files are distributed evenly over the loops.
struct LoopChoice: Sendable {
    private static let mostKept = 1024

    /// The positions of the loops that have last kept a connection with an origin after a response.
    ///
    /// An origin may refuse every other connection.
    private var kept: [Origin?: Int] = [:]
    /// The numbers of running exchanges with each origin, by the positions of their loops.
    private var running: [Origin?: [Int]] = [:]

    /// Returns the position of the loop for a new exchange, among `count` loops: the neighbor's loop, or the loop with
    /// the fewest exchanges with the origin.
    mutating func begin(with origin: Origin?, beside neighbor: Int? = nil, of count: Int) -> Int {
        let first = kept[origin] ?? Int(UInt(bitPattern: origin.hashValue) % UInt(count))
        return Self.add(to: neighbor, of: &running[origin, default: Array(repeating: 0, count: count)], from: first)
    }

    /// Increments the number at the neighbor's position, or, without a neighbor, the smallest number.
    ///
    /// If several numbers are the smallest, the first of them from a given position on is incremented.
    ///
    /// - Returns: The position of the incremented number.
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

    /// Records that the loop at a position keeps the connection of an exchange.
    mutating func kept(with origin: Origin?, at position: Int) {
        guard kept[origin] != position else { return }
        if kept.count >= Self.mostKept { kept.removeAll() }
        kept[origin] = position
    }

    /// Ends an exchange that began on the loop at a position.
    mutating func end(with origin: Origin?, at position: Int) {
        running[origin]?[position] -= 1
        if running[origin]?.allSatisfy({ $0 == 0 }) ?? false { running[origin] = nil }
    }
}
#endif
