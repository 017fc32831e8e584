#if ServerStack
internal import NIOCore
internal import NIOPosix

/// The event loops that all transports on AsyncHTTPClient in the process share; created once and never shut down.
///
/// The package doesn't use NIO's shared event loop group, because bytes are written to disk on the loops, which must
/// not delay other libraries. On Apple's platforms, the shared group uses Network.framework, whose channels end the
/// process if they receive the channel options that this transport sets.
enum EventLoops {
    /// All event loops, each with the clock that measures the callbacks on it.
    static let all: [(loop: any EventLoop, clock: CallbackClock)] =
        MultiThreadedEventLoopGroup(numberOfThreads: count).makeIterator().map { ($0, CallbackClock()) }

    /// The number of file descriptors that must be available before the loops are created.
    ///
    /// NIO ends the process if it can't open the three descriptors of each loop. Other threads may open some between
    /// the check and the creation: a partial file and its lock, and those by which libdispatch examines its threads.
    static var descriptorCount: Int { 3 * count + 4 }

    private static var count: Int { NIOSingletons.groupLoopCountSuggestion }
}
#endif
