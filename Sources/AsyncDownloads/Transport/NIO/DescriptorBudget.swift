#if ServerStack
/// The descriptors that the pools of one transport may use.
///
/// libdispatch ends the process when it needs a descriptor and none is left, and partial files also need descriptors.
/// Therefore, a few descriptors stay free, and the number of idle connections to all origins together is limited.
final class DescriptorBudget: Sendable {
    /// The number of descriptors that have to be free before a connection is opened.
    static let reserve = 8
    /// The largest number of idle connections, on all loops.
    private static let mostIdle = 256

    /// The largest number of idle connections in each pool.
    let idleCount: Int
    /// The test for a shortage, which only one pool performs at a time, because it opens the reserve's descriptors.
    private let isShort: Mutex<@Sendable () -> Bool>
    private let openCount = Mutex(0)
    private let evictions = Mutex<[@Sendable () -> Void]>([])

    /// Creates a budget with up to an eighth of the descriptors for idle connections.
    ///
    /// - Parameters:
    ///   - loopCount: The number of event loops, each with one pool.
    ///   - descriptorLimit: The maximum number of descriptors of the process; nil if unlimited or unknown.
    ///   - isShort: Returns whether fewer descriptors than the reserve are free.
    init(
        loopCount: Int, descriptorLimit: Int? = DescriptorLimit.current,
        isShort: @escaping @Sendable () -> Bool = { DescriptorShortage.error(opening: reserve) != nil }
    ) {
        self.isShort = Mutex(isShort)
        idleCount = max(1, min(Self.mostIdle, (descriptorLimit ?? .max) / 8) / loopCount)
    }

    /// Whether no connection can be opened before another connection of the transport is closed.
    ///
    /// The value is false if the transport has no other connection, because waiting would not help.
    var isExhausted: Bool {
        hasOpen && isShort.withLock { $0() }
    }

    /// Whether the transport has a connection that is open or being opened.
    var hasOpen: Bool { openCount.withLock { $0 } > 0 }

    /// Whether another connection is open or being opened, besides the one whose attempt has just failed.
    var hasOthers: Bool { openCount.withLock { $0 } > 1 }

    /// Registers a closure that closes idle connections of one pool, to be called when descriptors run short.
    func onShortage(_ evict: @escaping @Sendable () -> Void) { evictions.withLock { $0.append(evict) } }

    /// Has each pool close some of its idle connections.
    func evict() {
        for evict in evictions.withLock({ $0 }) { evict() }
    }

    /// Counts a connection that is being opened.
    func open() { openCount.withLock { $0 += 1 } }

    /// Counts a connection as closed.
    func close() { openCount.withLock { $0 -= 1 } }
}
#endif
