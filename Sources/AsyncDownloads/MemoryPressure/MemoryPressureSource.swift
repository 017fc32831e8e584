/// Where a downloader learns how short of memory it is.
///
/// Under pressure a downloader frees what it holds in memory for downloads that do not run. Running transfers, and
/// bytes that are on disk, are not touched.
public struct MemoryPressureSource: Sendable {
    let kind: Kind

    enum Kind { case automatic, none, manual(ManualMemoryPressure) }

    /// What the system tells; nothing where it tells nothing.
    ///
    /// On Apple's systems these are Dispatch's memory pressure events, and UIKit's memory warnings where UIKit exists,
    /// each of which counts as a ``MemoryPressure/warning`` for ten seconds.
    ///
    /// On Linux it is the kernel's pressure stall information. The first that can be watched is used: the file, FIFO
    /// or socket that the service manager names in `$MEMORY_PRESSURE_WATCH`, where `/dev/null` means none at all and
    /// `$MEMORY_PRESSURE_WRITE` says how to set it up; the `memory.pressure` of the control group that this process is
    /// in (version 2); `/proc/pressure/memory`. It is a ``MemoryPressure/warning`` when tasks had to wait for memory
    /// during 150 of 2,000 milliseconds, or as long as the service manager asks, and ``MemoryPressure/critical`` when
    /// all of them waited at once during 500; a FIFO or a socket tells of warnings only. Since the kernel does not say
    /// when it is over, a level ends when there was no sign of it for ten seconds. Where nothing can be watched, one
    /// line of the log says so.
    public static let automatic = Self(kind: .automatic)

    /// No source: memory is never short.
    public static let none = Self(kind: .none)

    /// What the program itself reports, in place of the system.
    public static func manual(_ pressure: ManualMemoryPressure) -> Self { Self(kind: .manual(pressure)) }
}
