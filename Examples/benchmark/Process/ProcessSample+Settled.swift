extension ProcessSample {
    /// Longer than Dispatch keeps a thread that has nothing to do.
    private static let quiet = Duration.seconds(6)

    /// The process once it `isEnough`, or once its threads and descriptors have not changed for a while.
    static func settled(_ isEnough: (Self) -> Bool = { _ in false }) async throws -> Self {
        let clock = ContinuousClock()
        var sample = try now()
        var lastChange = clock.now
        while !isEnough(sample), clock.now - lastChange < quiet {
            try await Task.sleep(for: .milliseconds(100))
            let next = try now()
            if (next.threads, next.descriptors) != (sample.threads, sample.descriptors) { lastChange = clock.now }
            sample = next
        }
        return sample
    }
}
