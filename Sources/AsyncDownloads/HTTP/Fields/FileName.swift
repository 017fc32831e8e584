package import struct Foundation.URL

/// Functions that turn untrusted names into names that are safe for files.
package enum FileName {
    /// The length of the longest name that common file systems accept, in UTF-8 bytes.
    package static let maximumByteCount = 255

    /// Returns a name that can't leave its directory or mislead a reader; `nil` if nothing remains.
    ///
    /// If the suggestion looks like a path, its last component is used. Control characters, bidirectional controls,
    /// line and paragraph separators, and noncharacters are replaced by `_`, and a name that resembles a hidden file of
    /// this package gets the prefix `_`. All other characters stay unchanged; ``portable(_:)`` applies the rules of
    /// volumes that accept fewer names. The result has at most 255 bytes. A sanitized name is returned unchanged.
    package static func sanitized(_ suggestion: String) -> String? {
        if isOrdinary(suggestion) { return suggestion }
        // Scalars are compared, because a slash and a combining mark after it form one `Character`.
        guard let component = suggestion.unicodeScalars.split(separator: "/").last else { return nil }
        var harmless = String.UnicodeScalarView()
        for scalar in component { harmless.append(scalar.isDangerous ? "_" : scalar) }
        // The name is shortened before the checks, because the shortened name may be one that they reject.
        let name = shortened(String(harmless))
        guard !["", ".", ".."].contains(visible(name)) else { return nil }
        return resemblesHiddenFile(name) ? shortened("_" + name) : name
    }

    /// Whether the name evidently needs no change on any volume, unless it is reserved: at most 255 ASCII letters,
    /// digits, hyphens, underscores, and dots, with a letter or a digit at both ends.
    ///
    /// Most names are of this kind, and the properties of Unicode take many times as long as this check.
    private static func isOrdinary(_ name: String) -> Bool {
        let bytes = name.utf8
        guard let first = bytes.first, let last = bytes.last, bytes.count <= maximumByteCount else { return false }
        func isAlphanumeric(_ byte: UInt8) -> Bool { byte.isASCIILetter || byte.isASCIIDigit }
        return isAlphanumeric(first) && isAlphanumeric(last)
            && bytes.allSatisfy {
                isAlphanumeric($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "_")
            }
    }

    /// Returns the name, shortened to at most 255 bytes between two characters; a plausible extension is kept.
    static func shortened(_ name: String) -> String {
        guard name.utf8.count > maximumByteCount else { return name }
        let fileExtension = fileExtension(of: name)
        return prefix(of: name, maximumByteCount: maximumByteCount - fileExtension.utf8.count) + fileExtension
    }

    /// Returns the last dot and the text after it if the text has 1 to 16 bytes and no white space; otherwise "".
    static func fileExtension(of name: String) -> String {
        guard let dot = name.unicodeScalars.lastIndex(of: "."), dot > name.startIndex else { return "" }
        let fileExtension = name.unicodeScalars[dot...]
        let isPlausible = 2...17 ~= name.utf8[dot...].count && !fileExtension.contains(where: \.properties.isWhitespace)
        return isPlausible ? String(fileExtension) : ""
    }

    /// Returns the longest prefix of whole characters that fits; if the first character is too long, of whole scalars.
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

    /// Returns the text without dots and white space at its end, which some volumes ignore.
    static func trimmingEnd(_ text: Substring.UnicodeScalarView) -> Substring.UnicodeScalarView {
        guard let last = text.lastIndex(where: { $0 != "." && !$0.properties.isWhitespace }) else {
            return text.prefix(0)
        }
        return text[...last]
    }

    /// Returns the name without the characters that some volumes ignore when they compare names.
    private static func visible(_ name: String) -> String {
        if name.utf8.allSatisfy({ $0 < 0x80 }) { return name }
        return String(
            String.UnicodeScalarView(name.unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint }))
    }

    /// Returns a key that is equal for all names that a volume may treat as equal.
    ///
    /// Some volumes ignore case, differences between canonically equivalent characters, and invisible characters.
    static func folded(_ name: String) -> String {
        if name.utf8.allSatisfy({ $0 < 0x80 }) { return name.asciiLowercased() }
        // The name is uppercased first, so that `ß` and `ss`, for example, have the same key.
        return visible(name).uppercased().lowercased()
    }

    /// Returns whether a volume may treat the name as equal to the name of a hidden file (``PartialNames``).
    ///
    /// The names of the package's hidden files begin with a dot and end with 16 hexadecimal digits and a suffix.
    private static func resemblesHiddenFile(_ name: String) -> Bool {
        guard name.unicodeScalars.first(where: { !$0.properties.isDefaultIgnorableCodePoint }) == "." else {
            return false
        }
        let name = folded(String(trimmingEnd(name.unicodeScalars[...])))
        guard let suffix = hiddenSuffixes.first(where: { name.hasSuffix($0) }) else { return false }
        let digits = name.utf8.dropLast(suffix.utf8.count).suffix(hiddenDigitCount + 1)
        return digits.count > hiddenDigitCount && ".-".utf8.contains(digits[digits.startIndex])
            && digits.dropFirst().allSatisfy { $0.hexDigitValue != nil }
    }

    private static let hiddenSuffixes = [".lock", ".checkpoint", ".partial", ".temp", ".copy"]
    private static let hiddenDigitCount = 16
}

extension Unicode.Scalar {
    /// Whether the scalar is a control character, a bidirectional control, a line or paragraph separator, or a
    /// noncharacter, which some volumes reject.
    fileprivate var isDangerous: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: properties.isBidiControl || properties.isNoncharacterCodePoint
        }
    }
}

extension FileName {
    /// Returns the variant of a name with a number before its extension, cut to 255 bytes.
    ///
    /// Variant 1 is the name itself, and variant 2 of `a.txt` is `a-2.txt`.
    package static func numbered(_ name: String, _ number: Int) -> String {
        guard number > 1 else { return name }
        let fileExtension = fileExtension(of: name)
        let ending = "-\(number)\(fileExtension)"
        let stem = String(decoding: name.utf8.dropLast(fileExtension.utf8.count), as: UTF8.self)
        return prefix(of: stem, maximumByteCount: maximumByteCount - ending.utf8.count) + ending
    }

    /// Returns the original name and the number, at least 2, of a numbered name; `nil` if `name` isn't numbered.
    package static func unnumbered(_ name: String) -> (name: String, number: Int)? {
        let fileExtension = fileExtension(of: name)
        let stem = name.utf8.dropLast(fileExtension.utf8.count)
        guard let hyphen = stem.lastIndex(of: UInt8(ascii: "-")),
            let number = Int(String(decoding: stem[hyphen...].dropFirst(), as: UTF8.self))
        else { return nil }
        let first = String(decoding: stem[..<hyphen], as: UTF8.self) + fileExtension
        // The number may have another form, such as a leading zero, or the name may have been cut.
        return number > 1 && numbered(first, number).hasSameBytes(as: name) ? (first, number) : nil
    }
}

extension FileName {
    /// Returns the name in a form that is accepted by volumes with the naming rules of Windows.
    ///
    /// The characters that Windows rejects are replaced by `_`, dots and white space at the end are removed, and a name
    /// that Windows reserves for a device gets the prefix `_`. A portable name is returned unchanged.
    static func portable(_ sanitized: String) -> String {
        if isOrdinary(sanitized), !isReserved(ordinary: sanitized) { return sanitized }
        var legal = String.UnicodeScalarView()
        for scalar in sanitized.unicodeScalars {
            legal.append("<>:\"|?*\\".unicodeScalars.contains(scalar) ? "_" : scalar)
        }
        let name = String(trimmingEnd(legal[...]))
        guard !name.isEmpty else { return "_" }
        return isReserved(name) ? String(trimmingEnd(shortened("_" + name).unicodeScalars[...])) : name
    }

    /// Returns whether Windows reserves the name for a device, with any extension.
    ///
    /// Windows also ignores white space before the extension.
    private static func isReserved(_ name: String) -> Bool {
        let stem = trimmingEnd(name.unicodeScalars.prefix { $0 != "." })
        return reservedNames.contains(Substring(stem).asciiLowercased())
    }

    /// Returns whether Windows reserves an ordinary name, which contains no white space.
    private static func isReserved(ordinary name: String) -> Bool {
        let stem = name.utf8.prefix { $0 != UInt8(ascii: ".") }
        return stem.count <= longestReservedName && reservedNames.contains(Substring(stem).asciiLowercased())
    }

    private static let longestReservedName = reservedNames.lazy.map(\.utf8.count).max() ?? 0

    private static let reservedNames: Set<String> = {
        let numbered = "123456789¹²³".flatMap { ["com\($0)", "lpt\($0)"] }
        return Set(["con", "prn", "aux", "nul", "conin$", "conout$"] + numbered)
    }()
}

extension FileName {
    /// Returns a sanitized name from the last nonempty component of a URL's path; `nil` if nothing remains of it.
    ///
    /// Escapes that are malformed or that don't decode to UTF-8 stay unchanged. An escaped slash counts as a slash:
    /// only the text after it is used.
    package static func fromURLPath(_ percentEncodedPath: String) -> String? {
        let slash = UInt8(ascii: "/")
        let path = percentEncodedPath.utf8
        guard let end = path.lastIndex(where: { $0 != slash }) else { return nil }
        let start = path[...end].lastIndex(of: slash).map(path.index(after:)) ?? path.startIndex
        return sanitized(PercentEncoding.decodingLeniently(Substring(path[start...end])))
    }

    /// Returns the sanitized name for a file if the server suggests none: the caller's name, or the name from the URL.
    package static func unsuggested(_ callers: String?, from url: URL?) -> String {
        callers.flatMap(sanitized) ?? url.flatMap { fromURLPath($0.path(percentEncoded: true)) } ?? "download"
    }
}
