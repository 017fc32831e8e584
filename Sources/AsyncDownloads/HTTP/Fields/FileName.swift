/// Functions that turn untrusted names into names that are safe for files.
package enum FileName {
    /// The length of the longest name that common file systems accept, in UTF-8 bytes.
    package static let maximumByteCount = 255

    /// Returns a name that can't leave its directory and is legal on common file systems; `nil` if nothing remains.
    ///
    /// The result is the last component of the suggestion if that looks like a path. It contains no control,
    /// bidirectional, or zero-width characters, and no dots or white space at either end. The characters that Windows
    /// rejects are replaced by `_`, and a name that Windows reserves gets the prefix `_`. The result has at most 255
    /// bytes. A sanitized name is returned unchanged.
    package static func sanitized(_ suggestion: String) -> String? {
        let scalars = suggestion.unicodeScalars
        guard let component = scalars.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last else { return nil }
        var legal = String.UnicodeScalarView()
        for scalar in component where !scalar.isInvisible {
            legal.append("<>:\"|?*".unicodeScalars.contains(scalar) ? "_" : scalar)
        }
        let name = shortened(String(trimmingStart(trimmingEnd(legal[...]))))
        guard !name.isEmpty else { return nil }
        // Shortening comes first because it may produce a reserved name. It is repeated because the prefix adds a byte.
        return isReserved(name) ? shortened("_" + name) : name
    }

    /// Returns the name cut to 255 bytes between two characters; a plausible extension is kept.
    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > maximumByteCount else { return name }
        let fileExtension = fileExtension(of: name)
        let stem = prefix(of: name, maximumByteCount: maximumByteCount - fileExtension.utf8.count)
        return String(trimmingEnd(stem.unicodeScalars[...])) + fileExtension
    }

    /// Returns the last dot and the text after it, if that has 1 to 16 bytes and no white space; otherwise "".
    static func fileExtension(of name: String) -> String {
        guard let dot = name.unicodeScalars.lastIndex(of: "."), dot > name.startIndex else { return "" }
        let fileExtension = name.unicodeScalars[dot...]
        let isPlausible = 2...17 ~= name.utf8[dot...].count && !fileExtension.contains(where: \.properties.isWhitespace)
        return isPlausible ? String(fileExtension) : ""
    }

    /// Returns the longest prefix of whole characters that fits; of scalars if the first character is too long.
    static func prefix(of name: String, maximumByteCount: Int) -> String {
        var byteCount = 0
        let characters = name.prefix {
            byteCount += $0.utf8.count
            return byteCount <= maximumByteCount
        }
        if !characters.isEmpty { return String(characters) }
        byteCount = 0
        let scalars = name.unicodeScalars.prefix {
            byteCount += UTF8.width($0)
            return byteCount <= maximumByteCount
        }
        return String(scalars)
    }

    private static func trimmingStart(_ name: Substring.UnicodeScalarView) -> Substring.UnicodeScalarView {
        name.drop { $0.isTrimmed }
    }

    private static func trimmingEnd(_ name: Substring.UnicodeScalarView) -> Substring.UnicodeScalarView {
        guard let last = name.lastIndex(where: { !$0.isTrimmed }) else { return name.prefix(0) }
        return name[...last]
    }

    /// Returns whether Windows reserves the name for a device, which it does regardless of the extension.
    ///
    /// Windows also ignores white space before the extension.
    private static func isReserved(_ name: String) -> Bool {
        let stem = trimmingEnd(name.unicodeScalars.prefix { $0 != "." })
        return reservedNames.contains(Substring(stem).asciiLowercased())
    }

    private static let reservedNames: Set<String> = {
        let numbered = "123456789¹²³".flatMap { ["com\($0)", "lpt\($0)"] }
        return Set(["con", "prn", "aux", "nul", "conin$", "conout$"] + numbered)
    }()
}

extension Unicode.Scalar {
    /// Whether the scalar is removed from both ends of a name: a dot or white space.
    fileprivate var isTrimmed: Bool { self == "." || properties.isWhitespace }

    /// Whether the scalar is a control or format character, a line or paragraph separator, or a noncharacter.
    ///
    /// Bidirectional marks and zero-width characters are format characters.
    fileprivate var isInvisible: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: properties.isNoncharacterCodePoint
        }
    }
}
