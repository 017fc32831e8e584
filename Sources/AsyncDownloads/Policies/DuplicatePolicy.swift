/// What happens to a request for a resource that is being downloaded already.
///
/// Two requests are for the same resource when their URLs without fragment and all their headers are equal.
public struct DuplicatePolicy: Sendable, Hashable {
    let kind: Kind

    enum Kind { case coalesce, cancelExisting, reject }

    /// The new request joins the running transfer; each caller gets the file at its own destination.
    ///
    /// The default.
    public static let coalesce = Self(kind: .coalesce)

    /// Earlier callers get ``DownloadError/Code/superseded``; the bytes that they had serve the new request.
    public static let cancelExisting = Self(kind: .cancelExisting)

    /// The new request fails with ``DownloadError/Code/duplicate``; earlier callers are not disturbed.
    public static let reject = Self(kind: .reject)
}
