/// An identifier of a download, which stays the same across launches.
///
/// The identifier is recorded with the received bytes and in the journal of a background session, so that an app can
/// associate a restored download with its own data. It isn't a secret.
public struct DownloadID: Sendable, Hashable, LosslessStringConvertible, Codable {
    private let high: UInt64
    private let low: UInt64

    /// Creates an identifier that differs from all others.
    init() {
        var generator = SystemRandomNumberGenerator()
        (high, low) = (generator.next(), generator.next())
    }

    /// Creates the identifier with this ``description``; `nil` if the text isn't a valid one.
    public init?(_ description: String) {
        let digits = description.utf8
        guard digits.count == 32, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let high = UInt64(description.prefix(16), radix: 16), let low = UInt64(description.suffix(16), radix: 16)
        else { return nil }
        (self.high, self.low) = (high, low)
    }

    /// The identifier as 32 hexadecimal digits.
    public var description: String { Self.digits(high) + Self.digits(low) }

    private static func digits(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Decodes the identifier from its ``description``.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let id = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "an identifier of a download has 32 hexadecimal digits")
        }
        self = id
    }

    /// Encodes the ``description``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
