/// A policy that decides what happens to a transfer whose last download was canceled.
///
/// The policy doesn't apply to ``Downloader/shutdown()``, which stops every transfer and keeps its bytes.
public struct AbandonmentPolicy: Sendable, Hashable {
    let kind: Kind

    enum Kind { case pause, finish, discard }

    /// The transfer stops, and its bytes are kept for the next request for the resource.
    ///
    /// This is the default.
    public static let pause = Self(kind: .pause)

    /// The transfer continues to its end, and the file is placed at the destination of the last download.
    ///
    /// If that download failed because of its deadline, the transfer stops as with ``pause``.
    public static let finish = Self(kind: .finish)

    /// The transfer stops, and its bytes are removed.
    public static let discard = Self(kind: .discard)
}
