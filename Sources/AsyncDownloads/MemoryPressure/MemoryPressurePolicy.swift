/// What a downloader frees when memory is short.
///
/// Only what belongs to downloads that do not run: the beginnings of bodies in a ``PartialBodyStore``, and paused downloads
/// whose handles have been let go of. Running transfers are never touched. A paused download whose handle is held stays
/// what it is, and tells ``DownloadEvent/released(byteCount:isOnDisk:)`` when its bytes leave memory.
public struct MemoryPressurePolicy: Sendable, Hashable {
    let kind: Kind

    enum Kind { case release, discard, ignore }

    /// At ``MemoryPressure/warning`` bodies go to disk, at ``MemoryPressure/critical`` they are dropped.
    ///
    /// What is on disk stays and serves the next request. The default.
    public static let release = Self(kind: .release)

    /// Like ``release``, and the bytes on disk of paused downloads are deleted too.
    ///
    /// For caches, whose bytes are not worth the space when the system is in need.
    public static let discard = Self(kind: .discard)

    /// Nothing.
    public static let ignore = Self(kind: .ignore)
}
