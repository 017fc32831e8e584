#if canImport(Darwin)
extension QueueMeasurement {
    /// Measures in this process, because most Apple platforms can't start another one.
    static func measureSeparately(_ count: Int, _ engine: Engine) async throws -> Self {
        try await measure(count, engine)
    }
}
#endif
