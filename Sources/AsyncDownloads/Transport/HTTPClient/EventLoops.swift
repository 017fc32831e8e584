#if ServerStack
internal import Dispatch
internal import NIOCore
internal import NIOPosix

/// The event loops that all transports on AsyncHTTPClient in the process share; created once and never shut down.
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
    /// NIO ends the process if it can't open the three descriptors of each loop. Other threads may open some between
    /// the check and the creation: a partial file and its lock, and those by which libdispatch examines its threads.
    static var descriptorCount: Int { 3 * count + 4 }

    private static var count: Int { NIOSingletons.groupLoopCountSuggestion }
}

/// An event loop, and what its exchanges share.
final class DeliveryLoop: Sendable {
    let eventLoop: any EventLoop
    /// The queue on which large parts are passed to their handlers while the loop reads the next ones.
    let queue = DispatchQueue(label: "async-downloads.delivery", qos: .userInitiated)
    /// The clock that measures the callbacks on the loop.
    let clock = CallbackClock()
    /// The buffers into which connections without TLS read.
    let buffers = ReadBuffers()

    private let largeBodies = Mutex(0)

    init(eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// The number of exchanges that have received a large part and have not ended.
    var largeBodyCount: Int { largeBodies.withLock { $0 } }

    /// Counts an exchange that has received a large part.
    func beginLargeBody() { changeLargeBodies(by: 1) }

    /// Ends what ``beginLargeBody()`` has begun.
    func endLargeBody() { changeLargeBodies(by: -1) }

    private func changeLargeBodies(by difference: Int) {
        largeBodies.withLock { count in
            count += difference
            // Under the lock, so that the last change decides.
            buffers.adapt(toLargeBodies: count)
        }
    }
}
#endif
