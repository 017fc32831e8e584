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

    /// The number of file descriptors that the loops open when they are created.
    static var descriptorCount: Int { 3 * count }

    private static var count: Int { NIOSingletons.groupLoopCountSuggestion }
}
#endif
