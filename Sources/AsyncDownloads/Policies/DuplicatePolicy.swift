/// A policy that decides what happens to a request for a resource that is already being downloaded.
///
/// Two requests are for the same resource if their nonsecret headers are equal, and they have the same
/// ``DownloadRequest/identity`` or, without one, equal URLs, ignoring fragments. In addition, they must have the same
/// ``DownloadRequest/account`` or, without one, equal secret headers.
public struct DuplicatePolicy: Sendable, Hashable {
    let kind: Kind

    enum Kind { case coalesce, cancelExisting, reject }

    /// The new request joins the running transfer, and each download gets the file at its own destination.
    ///
    /// This is the default. Several of the downloads may have the same destination.
    public static let coalesce = Self(kind: .coalesce)

    /// Earlier downloads fail with ``DownloadError/Code/superseded``, and the new request continues from their bytes.
    public static let cancelExisting = Self(kind: .cancelExisting)

    /// The new request fails with ``DownloadError/Code/duplicate``, and earlier downloads aren't affected.
    public static let reject = Self(kind: .reject)
}
