/// A policy that decides what a downloader releases under memory pressure.
///
/// The policy applies to the bytes of downloads that aren't running: to bodies in a ``PartialBodyStore``, and, with
/// ``discard``, to the bytes of paused downloads on disk. Running downloads keep their bytes, but close additional
/// connections, unless the policy is ``ignore``. A paused download whose handle exists stays paused, and emits
/// ``DownloadEvent/released(byteCount:isOnDisk:)`` when its bytes are released from memory.
public struct MemoryPressurePolicy: Sendable, Hashable {
    let kind: Kind

    enum Kind { case release, discard, ignore }

    /// Bodies are moved to disk at ``MemoryPressure/warning`` and discarded at ``MemoryPressure/critical``.
    ///
    /// Bytes that are on disk stay there for the next request. This is the default.
    public static let release = Self(kind: .release)

    /// Bodies are discarded at both levels, and the bytes of paused downloads are deleted from disk.
    ///
    /// Use this policy for caches, whose bytes aren't worth their space when the system is short of memory.
    public static let discard = Self(kind: .discard)

    /// Nothing is released.
    public static let ignore = Self(kind: .ignore)
}
