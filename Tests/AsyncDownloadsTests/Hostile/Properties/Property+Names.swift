internal import Foundation

@testable import AsyncDownloads

/// The properties of suggested names: a sanitized name never leaves its directory.
extension Property {
    static func contentDisposition(_ text: String) throws {
        guard let suggestion = ContentDisposition(text).suggestedFileName else { return }
        try demand(!suggestion.isEmpty, "an empty suggestion")
        guard let name = FileName.sanitized(suggestion) else { return }
        try demandHarmless(name)
        let encoded = name.utf8.map { byte in
            byte.isASCIIDigit || byte.isASCIILetter ? String(UnicodeScalar(byte)) : "%\(hexadecimal([byte]))"
        }
        let written = "attachment; filename=\"other\"; filename*=UTF-8''\(encoded.joined())"
        try demand(ContentDisposition(written).suggestedFileName?.hasSameBytes(as: name) == true, written)
    }

    static func fileName(_ text: String) throws {
        for name in [FileName.sanitized(text), FileName.fromURLPath(text)].compactMap(\.self) {
            try demandHarmless(name)
        }
    }

    private static func demandHarmless(_ name: String) throws {
        try demand(1...255 ~= name.utf8.count, "\(name.utf8.count) bytes")
        let isForbidden: (UInt8) -> Bool = { $0 < 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "/") }
        try demand(!name.utf8.contains(where: isForbidden), "a forbidden character")
        try demand(!name.unicodeScalars.contains(where: \.properties.isBidiControl), "a bidirectional control")
        try demand(HiddenName(name) == nil, "the name of a hidden file")
        try demand(FileName.sanitized(name)?.hasSameBytes(as: name) == true, "another name the second time")
        // The path that is built with the name, and its meaning for a file system.
        let path = PartialNames.join("/d", name)
        try demand(PartialNames.directory(of: path) == "/d", "another directory")
        try demand(URL(fileURLWithPath: path).standardizedFileURL.path.utf8.starts(with: "/d/".utf8), "another place")
        let numbered = FileName.numbered(name, 12)
        try demand(numbered.utf8.count <= FileName.maximumByteCount, "a numbered name that is too long")
        try demand(FileName.sanitized(numbered)?.hasSameBytes(as: numbered) == true, "a number makes it another name")
        let portable = FileName.portable(name)
        try demand(FileName.sanitized(portable)?.hasSameBytes(as: portable) == true, "portable, but not sanitized")
        try demand(FileName.portable(portable).hasSameBytes(as: portable), "another portable name the second time")
        let both = FileName.numbered(portable, 12)
        try demand(FileName.portable(both).hasSameBytes(as: both), "a number makes the name less portable")
    }
}
