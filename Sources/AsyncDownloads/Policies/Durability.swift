/// The failures that downloaded bytes survive, and the cost of that protection.
///
/// With every value, a checkpoint never claims lost bytes: they are downloaded again, and no file is assembled from
/// them.
public struct Durability: Hashable, Sendable, CustomStringConvertible {
    /// The name of the value, which is stable across versions.
    public let name: String

    /// The name of the value, the same as ``name``.
    public var description: String { name }

    private init(_ name: String) { self.name = name }

    /// Checkpoints and finished files survive a power loss and a crash of the system.
    ///
    /// Each checkpoint syncs the file's data, then the checkpoint, and then their directory; a finished file is synced
    /// before it replaces its destination. Each time, this takes a few milliseconds on a solid-state drive, and longer
    /// on other drives. Bytes that were received after the last checkpoint survive the end of the process, but not a
    /// power loss.
    public static let powerLoss = Self("powerLoss")

    /// Everything survives the end of the process, even a crash; nothing is guaranteed after a system crash.
    ///
    /// On a local file system, nothing is synced: after a restart of the machine, unfinished downloads start at their
    /// first byte, and a file that was finished shortly before a system crash may be empty or contain zeros. On other
    /// file systems, such as that of a file server, files are synced as with ``powerLoss``. Use this value for caches
    /// and benchmarks.
    public static let processCrash = Self("processCrash")
}
