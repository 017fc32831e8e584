/// A limit on a data rate, such as ``Downloader/bandwidthLimit``, or no limit.
///
/// An integer literal is a number of bytes per second.
public struct ByteRate: Sendable, Hashable, ExpressibleByIntegerLiteral {
    /// The number of bytes per second; `nil` for no limit.
    public let bytesPerSecond: Int64?

    init(_ bytesPerSecond: Int64?) {
        self.bytesPerSecond = bytesPerSecond
    }

    /// Creates a limit of a number of bytes per second.
    public init(integerLiteral bytesPerSecond: Int64) {
        self.init(bytesPerSecond)
    }

    /// A rate without a limit.
    public static let unlimited = Self(nil)

    /// Returns a limit of a number of bytes per second.
    public static func bytesPerSecond(_ count: Int64) -> Self { Self(count) }
}

extension ByteRate: CustomStringConvertible {
    /// The number of bytes per second with its unit, or `unlimited`.
    public var description: String { bytesPerSecond.map { "\($0) bytes per second" } ?? "unlimited" }
}
