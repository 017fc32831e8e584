/// Makes names for files out of names that strangers suggest.
package enum FileName {
    /// The longest name, in bytes of UTF-8, that common file systems take.
    package static let maximumByteCount = 255

    /// A name that stays in its directory and is legal on common file systems; `nil` when nothing is left of it.
    ///
    /// The last component of anything that looks like a path, without control, bidi and zero-width characters, without
    /// dots and spaces at either end, `_` for the characters that Windows refuses and before the names it reserves, at
    /// most 255 bytes. A name that is already sanitised comes back unchanged.
    package static func sanitised(_ suggestion: String) -> String? {
        let scalars = suggestion.unicodeScalars
        guard let component = scalars.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last else { return nil }
        var legal = String.UnicodeScalarView()
        for scalar in component where !scalar.isInvisible {
            legal.append("<>:\"|?*".unicodeScalars.contains(scalar) ? "_" : scalar)
        }
        let name = shortened(String(trimmingStart(trimmingEnd(legal[...]))))
        guard !name.isEmpty else { return nil }
        // The cut comes first, since it may leave a reserved name, and again, since the prefix may be one byte too many.
        return isReserved(name) ? shortened("_" + name) : name
    }

    /// Cuts a name to 255 bytes between two characters, out of its middle when it has a plausible extension.
    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > maximumByteCount else { return name }
        let fileExtension = fileExtension(of: name)
        let stem = prefix(of: name, maximumByteCount: maximumByteCount - fileExtension.utf8.count)
        return String(trimmingEnd(stem.unicodeScalars[...])) + fileExtension
    }

    /// The last dot and what follows it, if that is 1 to 16 bytes without white space; else nothing.
    static func fileExtension(of name: String) -> String {
        guard let dot = name.unicodeScalars.lastIndex(of: "."), dot > name.startIndex else { return "" }
        let fileExtension = name.unicodeScalars[dot...]
        let isPlausible = 2...17 ~= name.utf8[dot...].count && !fileExtension.contains(where: \.properties.isWhitespace)
        return isPlausible ? String(fileExtension) : ""
    }

    /// As many whole characters as fit; scalars, when the first character alone is too long.
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

    /// Whether Windows takes the name for a device, which it does with any extension and with spaces before that.
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
    /// Removed from the ends of names.
    fileprivate var isTrimmed: Bool { self == "." || properties.isWhitespace }

    /// Control and format characters (bidi marks and zero-width ones are the latter), line separators, non-characters.
    fileprivate var isInvisible: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: properties.isNoncharacterCodePoint
        }
    }
}
