/// What bytes that were downloaded survive, and what that costs.
///
/// Under either, a checkpoint never claims a byte that is not there: what a failure takes is downloaded again, and no
/// file is ever put together from bytes that were lost.
public struct Durability: Hashable, Sendable, CustomStringConvertible {
    /// The policy's name, stable across versions.
    public let name: String

    /// The same as ``name``.
    public var description: String { name }

    private init(_ name: String) { self.name = name }

    /// Checkpoints and finished files survive a loss of power and a crash of the system.
    ///
    /// Each checkpoint syncs the file's data, then the checkpoint, then their directory; a finished file is synced
    /// before it replaces its destination. That is a few milliseconds each time on a solid-state disk, more on others.
    /// Between two checkpoints the bytes survive the process alone.
    public static let powerLoss = Self("powerLoss")

    /// Everything survives the end of the process, however sudden; nothing is promised when the machine stops.
    ///
    /// Nothing is ever synced. After the machine has restarted, unfinished downloads begin again, and a file that was
    /// finished shortly before may be empty or hold zeros: for caches and benchmarks.
    public static let processCrash = Self("processCrash")
}
