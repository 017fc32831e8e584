/// What happens to a transfer whose last caller has left.
///
/// ``Downloader/shutdown()`` is no leaving: it stops every transfer and keeps its bytes.
public struct AbandonmentPolicy: Sendable, Hashable {
    let kind: Kind

    enum Kind { case pause, finish, discard }

    /// It stops and keeps its bytes for the next request of the resource.
    ///
    /// The default.
    public static let pause = Self(kind: .pause)

    /// It runs to its end, and the file is placed at the destination of the handle that left last.
    ///
    /// A handle that was ended by its deadline wants no work to be done without it: then the transfer stops, as with
    /// ``pause``.
    public static let finish = Self(kind: .finish)

    /// It stops, and its bytes are removed.
    public static let discard = Self(kind: .discard)
}
