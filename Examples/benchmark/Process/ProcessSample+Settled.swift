#if ServerStack
internal import Foundation

extension ProcessSample {
    /// Longer than Dispatch keeps a thread that has nothing to do.
    private static let quiet = Duration.seconds(6)

    /// The process once it `isEnough`, or once its threads and descriptors have not changed for a while.
    ///
    /// Blocks its thread, since every task that sleeps would wake one of those that are to go.
    static func settled(_ isEnough: (Self) -> Bool = { _ in false }) throws -> Self {
        let clock = ContinuousClock()
        var sample = try now()
        var lastChange = clock.now
        while !isEnough(sample), clock.now - lastChange < quiet {
            usleep(100_000)
            let next = try now()
            if (next.threads, next.descriptors) != (sample.threads, sample.descriptors) { lastChange = clock.now }
            sample = next
        }
        return sample
    }
}
#endif
