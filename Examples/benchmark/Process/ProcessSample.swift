#if ServerStack
/// What the process holds of the system's resources at one moment.
struct ProcessSample: Sendable, Hashable, Codable {
    /// The resident memory in bytes, after free memory was released to the system.
    var residentBytes: Int64
    var descriptors: Int
    var threads: Int
}
#endif
