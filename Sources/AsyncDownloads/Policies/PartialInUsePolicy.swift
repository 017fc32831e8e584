/// What happens to a download whose unfinished file another process, or another downloader, has in its hands.
///
/// One process at a time writes an unfinished file. Which one it is says a lock beside it, which goes with the process,
/// however that ends.
public struct PartialInUsePolicy: Sendable, Hashable {
    let waits: Bool

    /// It waits for its turn, then goes on from whatever bytes the other has left.
    ///
    /// The default. Where the other has finished there is nothing to go on from, and the file is fetched anew. The
    /// ``DownloadRequest/deadline`` bounds the wait.
    public static let wait = Self(waits: true)

    /// It fails with ``DownloadError/Code/partialInUse`` and asks the server for nothing.
    public static let fail = Self(waits: false)
}
