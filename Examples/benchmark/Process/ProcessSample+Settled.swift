internal import Foundation

extension ProcessSample {
    /// A time that is longer than Dispatch keeps an idle thread.
    static let quiet = Duration.seconds(6)

    /// Returns a sample once `isEnough` accepts it, or once threads and descriptors have not changed for a time.
    ///
    /// It blocks its thread, because a sleeping task would wake one of the idle threads that have to exit.
    static func settled(after time: Duration = quiet, _ isEnough: (Self) -> Bool = { _ in false }) throws -> Self {
        let clock = ContinuousClock()
        var sample = try now()
        var lastChange = clock.now
        while !isEnough(sample), clock.now - lastChange < time {
            usleep(100_000)
            let next = try now()
            if (next.threads, next.descriptors) != (sample.threads, sample.descriptors) { lastChange = clock.now }
            sample = next
        }
        return sample
    }
}
