/// A scanner for the text of an XML property list, which moves forward over its bytes once.
///
/// The scanner supports only the parts of XML that property lists use. The only entities are the predefined ones and
/// numeric references, so no entity expands to others. Attributes are ignored.
struct XMLScanner {
    /// A tag with its name only.
    struct Tag {
        enum Kind {
            case start
            case end
            case empty
        }

        let name: String
        let kind: Kind
    }

    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        _ = take("\u{FEFF}")
    }

    /// Returns the next tag, after any white space, comments, processing instructions, and document type.
    ///
    /// The result is `nil` if anything else comes next, or nothing.
    mutating func nextTag() -> Tag? {
        while true {
            while position < bytes.count, bytes[position].isXMLWhitespace { position += 1 }
            if take("<!--") {
                guard take(through: "-->") != nil else { return nil }
            } else if take("<?") {
                guard take(through: "?>") != nil else { return nil }
            } else if take("<!DOCTYPE") {
                // Declarations inside the document type end it at their first `>`, so the text that follows isn't a
                // valid tag.
                guard take(through: ">") != nil else { return nil }
            } else {
                return take("<") ? tag() : nil
            }
        }
    }

    /// Returns the character data up to the end tag of the current element, or `nil` if other markup comes first.
    mutating func text(upToEndOf name: String) -> String? {
        var text: [UInt8] = []
        while position < bytes.count {
            if take("<!--") {
                guard take(through: "-->") != nil else { return nil }
            } else if take("<![CDATA[") {
                guard let section = take(through: "]]>") else { return nil }
                text += section
            } else if take("<") {
                guard let tag = tag(), tag.name == name, tag.kind == .end else { return nil }
                return String(wellFormedUTF8: text)
            } else if take("&") {
                guard let reference = take(through: ";"), let scalar = Self.scalar(reference) else { return nil }
                text += String(scalar).utf8
            } else {
                let start = position
                while position < bytes.count, !bytes[position].isXMLMarkup { position += 1 }
                text += bytes[start..<position]
            }
        }
        return nil
    }

    /// Reads the rest of a tag, after `<`.
    private mutating func tag() -> Tag? {
        let isEnd = take("/")
        guard let content = take(through: ">") else { return nil }
        let name = content.prefix { !$0.isXMLWhitespace && $0 != UInt8(ascii: "/") }
        let isEmpty = content.last == UInt8(ascii: "/")
        guard !isEnd || name.count == content.count else { return nil }
        return Tag(name: String(decoding: name, as: UTF8.self), kind: isEnd ? .end : isEmpty ? .empty : .start)
    }

    private mutating func take(_ literal: StaticString) -> Bool {
        guard isNext(literal, at: position) else { return false }
        position += literal.utf8CodeUnitCount
        return true
    }

    /// Reads up to the end of the literal and returns the text before it, or `nil` if the literal doesn't occur.
    private mutating func take(through literal: StaticString) -> ArraySlice<UInt8>? {
        let start = position
        for end in start..<bytes.count where isNext(literal, at: end) {
            position = end + literal.utf8CodeUnitCount
            return bytes[start..<end]
        }
        return nil
    }

    private func isNext(_ literal: StaticString, at position: Int) -> Bool {
        guard literal.utf8CodeUnitCount <= bytes.count - position else { return false }
        for offset in 0..<literal.utf8CodeUnitCount where bytes[position + offset] != literal.utf8Start[offset] {
            return false
        }
        return true
    }

    /// Returns the character that an entity or character reference stands for.
    private static func scalar(_ reference: ArraySlice<UInt8>) -> Unicode.Scalar? {
        let name = String(decoding: reference, as: UTF8.self)
        switch name {
        case "lt": return "<"
        case "gt": return ">"
        case "amp": return "&"
        case "apos": return "'"
        case "quot": return "\""
        default:
            guard name.hasPrefix("#") else { return nil }
            let digits = name.dropFirst()
            let number = digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
            return number.flatMap { Unicode.Scalar($0) }
        }
    }
}

extension UInt8 {
    fileprivate var isXMLWhitespace: Bool { self == 0x20 || 0x09...0x0A ~= self || self == 0x0D }

    /// Whether the byte starts markup or a reference.
    fileprivate var isXMLMarkup: Bool { self == UInt8(ascii: "<") || self == UInt8(ascii: "&") }
}
