/// The expected digest of a whole file.
///
/// ```swift
/// let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
/// request.checksum = .sha256(digest)
/// request.checksum = Checksum("sha-256=\(digest)")
/// ```
public struct Checksum: Sendable, Hashable {
    /// An algorithm that computes a digest.
    public enum Algorithm: String, Sendable, Hashable, CaseIterable {
        /// SHA-256 (FIPS 180-4).
        case sha256 = "sha-256"
        /// SHA-512 (FIPS 180-4).
        case sha512 = "sha-512"

        /// The length of the digest in bytes.
        public var byteCount: Int {
            switch self {
            case .sha256: 32
            case .sha512: 64
            }
        }
    }

    /// The algorithm that computes the digest.
    public let algorithm: Algorithm

    /// The digest in lowercase hexadecimal digits.
    public let hex: String

    /// Returns a SHA-256 checksum with the given hexadecimal digits, in either case.
    ///
    /// The number of digits isn't checked here. A download with a malformed checksum fails with
    /// ``DownloadError/Code/invalidRequest``.
    public static func sha256(_ hex: String) -> Self { Self(algorithm: .sha256, hex: hex.lowercased()) }

    /// Returns a SHA-512 checksum with the given hexadecimal digits; see ``sha256(_:)``.
    public static func sha512(_ hex: String) -> Self { Self(algorithm: .sha512, hex: hex.lowercased()) }

    /// Creates a checksum from text such as `sha-256=HEX` or `sha-512=HEX`, the form of aria2's manifests.
    ///
    /// The result is `nil` for any other text. Case doesn't matter, and the hyphen may be omitted.
    public init?(_ text: String) {
        guard let equals = text.firstIndex(of: "=") else { return nil }
        let name = text[..<equals].lowercased()
        guard let algorithm = Algorithm.allCases.first(where: { $0.rawValue == name || $0.alias == name }) else {
            return nil
        }
        self.init(algorithm: algorithm, hex: text[text.index(after: equals)...].lowercased())
        guard isWellFormed else { return nil }
    }

    init(algorithm: Algorithm, hex: String) {
        self.algorithm = algorithm
        self.hex = hex
    }

    /// Whether the digest has the length that the algorithm requires and contains lowercase hexadecimal digits only.
    package var isWellFormed: Bool {
        hex.utf8.count == algorithm.byteCount * 2
            && hex.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }

    /// The textual form that ``init(_:)`` accepts.
    package var text: String { "\(algorithm.rawValue)=\(hex)" }
}

extension Checksum: Codable {
    /// Decodes a checksum from the textual form that ``init(_:)`` accepts.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let checksum = Checksum(text) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "not a checksum"))
        }
        self = checksum
    }

    /// Encodes the checksum in the textual form that ``init(_:)`` accepts.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension Checksum.Algorithm {
    /// The algorithm's name without the hyphen, such as `sha256`.
    var alias: String { rawValue.filter { $0 != "-" } }
}
