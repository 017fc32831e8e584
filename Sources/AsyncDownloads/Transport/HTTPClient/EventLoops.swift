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

/// An event loop with a queue beside it, on which large parts are delivered while the loop reads the next ones.
struct DeliveryLoop: Sendable {
    let eventLoop: any EventLoop
    let queue = DispatchQueue(label: "async-downloads.delivery", qos: .userInitiated)
    /// The clock that measures the callbacks on the loop.
    let clock = CallbackClock()
}
#endif
