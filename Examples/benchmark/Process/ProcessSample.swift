/// The resource usage of the process at one time.
struct ProcessSample: Sendable, Hashable, Codable {
    /// The resident memory in bytes, after free memory was released to the system.
    var residentBytes: Int64
    var descriptors: Int
    var threads: Int
}
