#if ServerStack
/// What the process holds of the system's resources at one moment.
struct ProcessSample: Sendable, Hashable, Codable {
    /// Memory that is resident, after what is free was given back to the system, in bytes.
    var residentBytes: Int64
    var descriptors: Int
    var threads: Int
}
#endif
