/// A limit on a duration, such as ``DownloadRequest/deadline``, or no limit.
public struct TimeLimit: Sendable, Hashable {
    /// The duration; `nil` for no limit.
    public let duration: Duration?

    private init(duration: Duration?) {
        self.duration = duration
    }

    /// Creates a limit of a duration.
    public init(_ duration: Duration) {
        self.init(duration: duration)
    }

    /// A duration without a limit.
    public static let unlimited = Self(duration: nil)

    /// Returns a limit of a number of seconds.
    public static func seconds(_ count: some BinaryInteger) -> Self { Self(.seconds(count)) }

    /// Returns a limit of a number of seconds.
    public static func seconds(_ count: Double) -> Self { Self(.seconds(count)) }

    /// Returns a limit of a number of milliseconds.
    public static func milliseconds(_ count: some BinaryInteger) -> Self { Self(.milliseconds(count)) }
}

extension TimeLimit: CustomStringConvertible {
    /// The duration, or `unlimited`.
    public var description: String { duration.map { "\($0)" } ?? "unlimited" }
}
