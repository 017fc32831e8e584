#if canImport(Darwin)
extension Machine {
    /// The model of the processors, which is not determined on this platform.
    static var processorModel: String? { nil }

    /// Whether all addresses that begin with 127 lead to this machine.
    static var hasLoopbackNetwork: Bool { false }

    /// The peak of the resident memory of another process, which is not determined on this platform.
    static func peakBytes(of process: Int32) -> Int64? { nil }
}
#endif
