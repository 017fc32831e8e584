/// A policy that decides what happens to received bytes when the validator of the resource changes.
///
/// A new entity tag or date usually means a new object. However, the nodes of a content delivery network may have
/// different tags for the same bytes, so a download that reaches different nodes could restart repeatedly.
public struct ContentChangePolicy: Sendable, Hashable {
    let kind: Kind

    enum Kind { case restart, verify }

    /// The bytes are discarded, so a file never contains bytes with different validators.
    ///
    /// This is the default.
    public static let restart = Self(kind: .restart)

    /// The bytes are kept if the length is the same, and the ``DownloadRequest/checksum`` is verified at the end.
    ///
    /// If the digest is wrong, the download restarts at its first byte, once, with ``RestartReason/digestMismatch``,
    /// and then follows ``restart``. Without a checksum, this policy is the same as ``restart``.
    public static let verify = Self(kind: .verify)
}
