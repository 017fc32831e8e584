/// A policy for a file that already exists at the destination when a download starts.
///
/// With every policy, an existing file is replaced only by a complete and verified one. A directory or a special file
/// at the destination always fails the download with ``DownloadError/Code/destinationUnusable``. Downloads of a
/// background session ignore the policy: their files replace existing ones.
public struct ExistingFilePolicy: Sendable, Hashable {
    let kind: Kind

    enum Kind { case reuse, keep, replace, fail }

    /// The file is reused if it is proven to be the right one; otherwise, it is downloaded.
    ///
    /// This is the default. If the request has a ``DownloadRequest/checksum``, only the checksum decides: the whole
    /// file is read, and a file with the expected digest is reused without a request. Otherwise, if an earlier download
    /// of the same resource placed the file and it is unmodified since, a conditional request asks the server whether
    /// the resource has changed; if it hasn't, no body is sent. The package records the origin of a file in an extended
    /// attribute, so on volumes without extended attributes only a checksum can prove a file. If an unfinished download
    /// to the same destination exists, its bytes are continued instead.
    ///
    /// ``DownloadedFile/isReused`` indicates that a file was reused.
    public static let reuse = Self(kind: .reuse)

    /// The file is reused without a request, regardless of its contents and the checksum.
    public static let keep = Self(kind: .keep)

    /// The file is ignored, and replaced by the downloaded one.
    public static let replace = Self(kind: .replace)

    /// The download fails with ``DownloadError/Code/destinationExists`` if a file exists when the download starts, or
    /// when the downloaded file gets its name.
    ///
    /// In a directory where the name is chosen (``DownloadRequest/Destination-swift.enum/directory(_:)``), the name
    /// from the URL is checked when the download starts, and the name that the server suggests when it responds.
    public static let fail = Self(kind: .fail)
}
