extension Resource {
    /// The bytes of a representation; a string literal stands for its UTF-8 bytes.
    package enum Body: Sendable, Hashable, ExpressibleByStringLiteral {
        case content(Content)
        case bytes([UInt8])

        package init(stringLiteral text: String) {
            self = .text(text)
        }

        package static func text(_ text: String) -> Body {
            .bytes(Array(text.utf8))
        }

        package var length: Int64 {
            switch self {
            case .content(let content): content.length
            case .bytes(let bytes): Int64(bytes.count)
            }
        }
    }
}
