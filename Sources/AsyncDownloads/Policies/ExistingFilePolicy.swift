/// A policy for a file that is at the destination already when a download starts.
///
/// Whatever the policy, an existing file is replaced only by a complete and verified one. A directory or a special file
/// at the destination always fails the download with ``DownloadError/Code/destinationUnusable``. Downloads of a
/// background session ignore the policy: their files replace others.
public struct ExistingFilePolicy: Sendable, Hashable {
    let kind: Kind

    enum Kind { case reuse, keep, replace, fail }

    /// The file is used again if it is proven to be the right one, and otherwise fetched.
    ///
    /// This is the default. If the request has a ``DownloadRequest/checksum``, it alone decides, and a file with the
    /// expected digest is used without a request; the whole file is read for this. Otherwise the server is asked whether
    /// the file has changed, if the file was placed by an earlier download of the same resource and nothing has changed
    /// it since; no body is sent if it has not. That is recorded in an extended attribute of the file, so on volumes
    /// without extended attributes only a checksum proves a file. Bytes of an unfinished download to the same destination
    /// are continued instead.
    ///
    /// ``DownloadedFile/isReused`` says that a file was used again.
    public static let reuse = Self(kind: .reuse)

    /// The file is used whatever it contains, without a request and without a look at the checksum.
    public static let keep = Self(kind: .keep)

    /// The file is ignored, and replaced by the downloaded one.
    public static let replace = Self(kind: .replace)

    /// The download fails with ``DownloadError/Code/destinationExists`` if a file exists when the download starts, or when
    /// the downloaded file gets its name.
    ///
    /// In a directory where the name is chosen (``DownloadRequest/Destination-swift.enum/directory(_:)``), this applies to
    /// the name from the URL when the download starts, and to the name that the server suggests when it answers.
    public static let fail = Self(kind: .fail)
}
