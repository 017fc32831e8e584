/// A policy for a download whose unfinished file another process or another downloader is writing.
///
/// Only one downloader at a time writes an unfinished file. Ownership is held by a lock file next to the unfinished
/// file; the system releases the lock when the process exits, even after a crash.
public struct PartialInUsePolicy: Sendable, Hashable {
    let waits: Bool

    /// The download waits for its turn, and then continues from the bytes that the other owner left.
    ///
    /// This is the default. If the other owner has finished the file, ``ExistingFilePolicy`` decides whether the file
    /// is used or fetched again. The ``DownloadRequest/deadline`` limits the wait.
    public static let wait = Self(waits: true)

    /// The download fails with ``DownloadError/Code/partialInUse`` and sends no request to the server.
    public static let fail = Self(waits: false)
}
