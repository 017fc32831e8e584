internal import AsyncDownloads
internal import Foundation

@testable import batch

/// The property that every accepted manifest contains only valid downloads within the directory.
enum ManifestProperty {
    /// A description of what did not hold.
    struct Violation: Error, CustomStringConvertible {
        let description: String
    }

    /// Throws a ``Violation`` if the manifest in `bytes` is accepted and violates the property.
    static func check(_ bytes: [UInt8]) throws {
        guard let entries = try? ManifestParser.entries(of: bytes) else { return }
        for entry in entries { try check(entry.item) }
        let written = entries.map { text($0.item) }.joined()
        try demand(
            (try? ManifestParser.entries(of: Array(written.utf8)))?.map(\.item) == entries.map(\.item), written)
    }

    private static func check(_ item: Item) throws {
        for address in [item.address] + item.mirrors {
            try demand(["http", "https"].contains(address.url.scheme?.lowercased()), "another scheme")
            try demand(address.url.host()?.isEmpty == false, "no host")
        }
        for path in [item.output?.path, item.subdirectory.isEmpty ? nil : item.subdirectory].compactMap({ $0 }) {
            // Bytes are compared, as the system does.
            let components = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            let isStep: (Substring.UTF8View) -> Bool = {
                ["", ".", ".."].contains(String(decoding: $0, as: UTF8.self))
            }
            try demand(!components.contains(where: isStep), "a path outside the directory")
            try demand(!path.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "a control character in a path")
        }
        try demand(item.checksum?.isWellFormed != false, "a digest of the wrong length")
        try demand(HeaderFields(item.headers).firstInvalidField() == nil, "a header that cannot be sent")
    }

    private static func text(_ item: Item) -> String {
        var lines = [item.address.text]
        if let output = item.output { lines.append(" out=\(output.path)") }
        if !item.subdirectory.isEmpty { lines.append(" dir=\(item.subdirectory)") }
        lines += item.mirrors.map { " mirror=\($0.text)" }
        if let checksum = item.checksum { lines.append(" checksum=\(checksum.text)") }
        lines += item.headers.map { " header=\($0.name): \($0.value)" }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func demand(_ condition: Bool, _ what: @autoclosure () -> String) throws(Violation) {
        if !condition { throw Violation(description: what()) }
    }
}

extension ManifestParser {
    /// Returns the entries of a whole manifest.
    static func entries(
        of bytes: [UInt8], _ form: Form = .downloads, base: BaseAddress? = nil
    ) throws(ManifestError) -> [Entry] {
        var parser = ManifestParser(form, base: base)
        var entries: [Entry] = []
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            if let entry = try parser.take(line) { entries.append(entry) }
        }
        if let entry = parser.complete() { entries.append(entry) }
        return entries
    }
}
