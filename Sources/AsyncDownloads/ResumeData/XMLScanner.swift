/// A position in the text of an XML property list, moving forward over its bytes once.
///
/// Knows as much of XML as property lists are made of. There are no entities but the predefined ones and numbers, so
/// none that expand, and attributes are passed over.
struct XMLScanner {
    /// One tag, without what stands in it beside its name.
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

    /// The next tag, past white space, comments, processing instructions and the document type.
    ///
    /// Nil where anything else comes next, or nothing.
    mutating func nextTag() -> Tag? {
        while true {
            while position < bytes.count, bytes[position].isXMLWhitespace { position += 1 }
            if take("<!--") {
                guard take(through: "-->") != nil else { return nil }
            } else if take("<?") {
                guard take(through: "?>") != nil else { return nil }
            } else if take("<!DOCTYPE") {
                // Declarations inside of it end it early, so that their rest is taken for what it must not be.
                guard take(through: ">") != nil else { return nil }
            } else {
                return take("<") ? tag() : nil
            }
        }
    }

    /// The character data up to the end tag of the element that was just started; nil where other markup comes first.
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

    /// What follows `<`.
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

    /// Takes everything up to the literal, and the literal; nil where it does not come.
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

    /// What an entity or character reference stands for.
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

    /// Whether markup or a reference begins with it.
    fileprivate var isXMLMarkup: Bool { self == UInt8(ascii: "<") || self == UInt8(ascii: "&") }
}
