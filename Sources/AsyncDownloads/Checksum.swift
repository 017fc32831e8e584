/// The digest that a whole file must have.
public struct Checksum: Sendable, Hashable {
    /// How the digest is computed.
    public enum Algorithm: String, Sendable, Hashable, CaseIterable {
        /// SHA-256 (FIPS 180-4).
        case sha256 = "sha-256"
        /// SHA-512 (FIPS 180-4).
        case sha512 = "sha-512"

        /// The digest's length in bytes.
        public var byteCount: Int {
            switch self {
            case .sha256: 32
            case .sha512: 64
            }
        }
    }

    /// The algorithm.
    public let algorithm: Algorithm

    /// The digest in lower-case hexadecimal digits.
    public let hex: String

    /// A SHA-256 digest in hexadecimal digits of either case.
    ///
    /// A text of the wrong form is found when the request is started: ``DownloadError/Code/invalidRequest``.
    public static func sha256(_ hex: String) -> Self { Self(algorithm: .sha256, hex: hex.lowercased()) }

    /// A SHA-512 digest in hexadecimal digits of either case; see ``sha256(_:)``.
    public static func sha512(_ hex: String) -> Self { Self(algorithm: .sha512, hex: hex.lowercased()) }

    /// Reads `sha-256=HEX` or `sha-512=HEX`, the form of aria2's manifests; nil for anything else.
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

    /// Whether the digits are hexadecimal and as many as the algorithm makes.
    package var isWellFormed: Bool {
        hex.utf8.count == algorithm.byteCount * 2
            && hex.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }

    /// The form that ``init(_:)`` reads.
    package var text: String { "\(algorithm.rawValue)=\(hex)" }
}

extension Checksum: Codable {
    /// Reads the form of ``init(_:)``.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let checksum = Checksum(text) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "not a checksum"))
        }
        self = checksum
    }

    /// Writes the form that ``init(_:)`` reads.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension Checksum.Algorithm {
    /// The other common spelling.
    var alias: String { rawValue.filter { $0 != "-" } }
}
