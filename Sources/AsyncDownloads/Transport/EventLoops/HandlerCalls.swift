#if ServerStack
internal import NIOCore
internal import NIOHTTP1

/// The calls of one exchange's handler, which also measure the handler's speed and detect large bodies.
///
/// The engine chooses the thread of each call, and never makes two calls at once.
final class HandlerCalls: Sendable {
    private struct State {
        var speed = HandlerSpeed()
        /// Whether the exchange counts as one with a large body.
        var isLarge = false
    }

    /// The number of bytes from which a part is large.
    private static let largeLength = 128 << 10
    /// The number of bytes from which a part is large with TLS, where parts are shorter than the reads.
    private static let secureLargeLength = 32 << 10
    /// The largest number of queued bytes that are passed to a slow handler at once.
    private static let slowLength = 128 << 10
    /// The number of queued bytes from which a connection isn't read.
    private static let capacity = 768 << 10
    /// The capacity under a bandwidth limit, which keeps the queue full.
    private static let limitedCapacity = 256 << 10

    /// The event loop of the exchange, with its delivery queue.
    private let loop: DeliveryLoop
    private let handler: any ExchangeHandler
    /// The buffers into which parts are read; nil with TLS, because NIOSSL reuses the buffers of its parts.
    private let buffers: ReadBuffers?
    private let whenEnded: @Sendable () -> Void
    private let state = Mutex(State())

    /// Creates the calls for one exchange.
    ///
    /// - Parameters:
    ///   - handler: The handler of the exchange.
    ///   - isSecure: Whether the exchange uses TLS.
    ///   - loop: The event loop of the exchange.
    ///   - whenEnded: A closure that is called once, before the end is reported to the handler.
    init(
        handler: any ExchangeHandler, isSecure: Bool, loop: DeliveryLoop, whenEnded: @escaping @Sendable () -> Void
    ) {
        self.handler = handler
        buffers = isSecure ? nil : loop.buffers
        self.loop = loop
        self.whenEnded = whenEnded
    }

    /// Returns the queue of the exchange's parts.
    static func makeQueue(isSecure: Bool) -> PartQueue<ByteBuffer> {
        PartQueue(
            leastLength: isSecure ? .max : largeLength, joinedLength: ReadBuffers.length, capacity: capacity)
    }

    /// Whether large parts should be passed on the event loop: true if the handler is fast and the loop has no other
    /// large body to read.
    var shouldPassOnLoop: Bool { !state.withLock(\.speed.isSlow) && loop.largeBodyCount <= 1 }

    /// The largest number of bytes that the handler accepts at once; nil for any number.
    ///
    /// Don't use this property under a lock, because it calls the handler.
    var longestPart: Int? { handler.longestPart }

    /// Returns the largest number of bytes of a queued part to pass at once.
    ///
    /// - Parameter longest: The largest number of bytes that the handler accepts at once; nil for any number.
    func longestQueuedPart(_ longest: Int?) -> Int? {
        state.withLock(\.speed.isSlow) ? min(longest ?? .max, Self.slowLength) : longest
    }

    /// Adds a part that has arrived to the queue, unless it should be passed at once.
    ///
    /// - Parameters:
    ///   - part: The part.
    ///   - longest: The largest number of bytes that the handler accepts at once; nil for any number.
    ///   - queue: The queue of the exchange.
    func arrived(
        _ part: ByteBuffer, longest: Int?, in queue: inout PartQueue<ByteBuffer>
    ) -> PartQueue<ByteBuffer>.Decision {
        queue.capacity = longest == nil ? Self.capacity : Self.limitedCapacity
        return queue.arrived(part, longest: longest, passesLarge: shouldPassOnLoop)
    }

    /// Passes information about the connection; called on the event loop.
    func pass(_ connection: ExchangeConnection) {
        handler.exchangeUses(connection)
    }

    /// Passes the head; called on the event loop.
    func pass(_ head: HTTPResponseHead) -> Readiness {
        let head = ResponseHead(
            status: StatusCode(Int(head.status.code)),
            headers: HeaderFields(head.headers.map { (name: $0.name, value: $0.value) }))
        return loop.clock.measure { handler.exchangeReceivedHead(head) }
    }

    /// Passes a part, and then keeps its buffer for another read.
    func pass(_ part: ByteBuffer) -> Readiness {
        let start = part.readableBytes >= Self.largeLength ? ContinuousClock.now : nil
        let readiness = part.withUnsafeReadableBytes { handler.exchangeReceivedBytes($0) }
        buffers?.recycle(part)
        if let start {
            let time = ContinuousClock.now - start
            state.withLock { $0.speed.took(time, for: part.readableBytes) }
        }
        return readiness
    }

    /// Counts the exchange, once, as having a large body if the part is large.
    func countIfLarge(_ part: ByteBuffer) {
        guard part.readableBytes >= (buffers == nil ? Self.secureLargeLength : Self.largeLength) else { return }
        let isFirst = state.withLock { state in
            defer { state.isLarge = true }
            return !state.isLarge
        }
        if isFirst { loop.beginLargeBody() }
    }

    /// Reports the end of the exchange to the handler.
    func report(_ end: ExchangeEnd) {
        whenEnded()
        if state.withLock(\.isLarge) { loop.endLargeBody() }
        loop.clock.measure { handler.exchangeEnded(end) }
    }
}
#endif
