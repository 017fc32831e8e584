#if ServerStack
internal import NIOCore
internal import NIOPosix

/// The event loops of every downloader of the process that uses AsyncHTTPClient; made once and never shut down.
///
/// They are the package's own, since bytes are written to disk on them, which must not hold up what other libraries run on
/// shared loops. On Apple's platforms the shared group is one of Network.framework, whose channels end the process on the
/// channel options that this engine sets.
enum EventLoops {
    /// Every loop, with the clock of the callbacks on it.
    static let all: [(loop: any EventLoop, clock: CallbackClock)] =
        MultiThreadedEventLoopGroup(numberOfThreads: count).makeIterator().map { ($0, CallbackClock()) }

    /// How many descriptors making the loops takes.
    static var descriptorCount: Int { 3 * count }

    private static var count: Int { NIOSingletons.groupLoopCountSuggestion }
}
#endif
