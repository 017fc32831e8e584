/// What happens to the bytes at hand when the server names another validator for the resource.
///
/// A new entity tag or date mostly means a new object. But the nodes of a content delivery network may each have a tag
/// of their own for the same bytes, so that a download that meets them in turn would begin again and again.
public struct ContentChangePolicy: Sendable, Hashable {
    let kind: Kind

    enum Kind { case restart, verify }

    /// They are given up: no two bytes of one file come under different validators.
    ///
    /// The default.
    public static let restart = Self(kind: .restart)

    /// They are kept where the length is the same, and the request's ``DownloadRequest/checksum`` decides at the end.
    ///
    /// When the digest is wrong the download begins again from its first byte, once, and goes by ``restart`` from then
    /// on: ``RestartReason/digestMismatch``. Without a checksum this is the same as ``restart``.
    public static let verify = Self(kind: .verify)
}
