/// A source of memory-pressure notifications for a downloader.
///
/// Under pressure, a downloader releases the memory of downloads that aren't running. Running downloads keep their bytes,
/// and bytes on disk are deleted only under ``MemoryPressurePolicy/discard``.
public struct MemoryPressureSource: Sendable {
    let kind: Kind

    enum Kind { case automatic, none, manual(ManualMemoryPressure) }

    /// The memory pressure that the system reports, if it reports any.
    ///
    /// On Apple platforms, the source consists of Dispatch's memory-pressure events and, where UIKit exists, its memory
    /// warnings; each warning counts as a ``MemoryPressure/warning`` for ten seconds.
    ///
    /// On Linux, the source is the kernel's pressure stall information. The first of these files that can be watched is
    /// used:
    ///
    /// - The file, FIFO, or socket that the service manager names in `$MEMORY_PRESSURE_WATCH`, with the setup in
    ///   `$MEMORY_PRESSURE_WRITE`. If the name is `/dev/null`, nothing is watched.
    /// - The `memory.pressure` file of the control group (version 2) of this process.
    /// - `/proc/pressure/memory`.
    ///
    /// The level is ``MemoryPressure/warning`` if tasks had to wait for memory during 150 of 2,000 milliseconds, or for
    /// the time that the service manager specifies. It is ``MemoryPressure/critical`` if all tasks waited at once
    /// during 500 of 2,000 milliseconds. A FIFO or a socket reports warnings only. The kernel doesn't report the end of
    /// pressure, so a level ends after ten seconds without a sign of it. If nothing can be watched, a line in the log,
    /// at the level debug, says so.
    public static let automatic = Self(kind: .automatic)

    /// No source: memory is never considered short.
    public static let none = Self(kind: .none)

    /// A source that the program itself controls, in place of the system.
    public static func manual(_ pressure: ManualMemoryPressure) -> Self { Self(kind: .manual(pressure)) }
}
