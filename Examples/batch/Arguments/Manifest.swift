internal import AsyncDownloads

/// A list of downloads in the format of aria2's input files.
///
///     # A comment.
///     https://example.org/a.bin
///       out=sub/a.bin
///       checksum=sha-256=9f86d08…
///       header=Accept: text/csv
///     https://example.org/b.bin
///
/// These three of aria2's options are supported, and `public-header` for a header that is not secret. Any other option
/// is an error, because ignoring it could put a file in the wrong place.
struct Manifest: Sendable {
    /// A URL and the options below it.
    struct Entry: Sendable, Hashable {
        /// The number of the URL's line, starting at 1.
        let line: Int
        var item: Item
        /// The number of the line with the output path, if there is one.
        var outputLine: Int?
    }

    private(set) var entries: [Entry] = []
    private var names: NameRegister

    /// Parses the text of a manifest, which is UTF-8 with lines that end in LF or CRLF.
    ///
    /// - Parameter names: The names of files that are not in the manifest.
    init(_ bytes: some Sequence<UInt8>, names: NameRegister = NameRegister()) throws(ManifestError) {
        self.names = names
        var number = 0
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            let entry: Entry?
            do throws(Misuse) {
                entry = try parse(line, number: number)
            } catch {
                throw ManifestError(line: number, misuse: error)
            }
            guard let entry else { continue }
            try registerLast()
            entries.append(entry)
        }
        try registerLast()
    }

    /// Parses a line; returns the entry that it begins, if it does.
    private mutating func parse(_ bytes: some Sequence<UInt8>, number: Int) throws(Misuse) -> Entry? {
        guard var text = String(wellFormedUTF8: Array(bytes)) else { throw Misuse("not valid UTF-8") }
        if number == 1, text.unicodeScalars.first == "\u{FEFF}" { text.unicodeScalars.removeFirst() }
        if text.unicodeScalars.last == "\r" { text.unicodeScalars.removeLast() }
        // Scalars are compared, because a delimiter and a combining mark after it form one `Character`.
        let isIndented = text.unicodeScalars.first == " " || text.unicodeScalars.first == "\t"
        let content = text.trimmingWhitespace()
        guard !content.isEmpty, content.unicodeScalars.first != "#" else { return nil }
        guard isIndented else { return Entry(line: number, item: Item(address: try Address(content))) }
        try parseOption(content, number: number)
        return nil
    }

    private mutating func parseOption(_ text: String, number: Int) throws(Misuse) {
        guard var entry = entries.last else { throw Misuse("an indented line needs a URL above it") }
        let scalars = text.unicodeScalars
        guard let equals = scalars.firstIndex(of: "=") else { throw Misuse("an indented line has the form name=value") }
        let name = text[..<equals].trimmingWhitespace()
        let value = String(scalars[scalars.index(after: equals)...]).trimmingWhitespace()
        switch name {
        case "out":
            guard entry.item.output == nil else { throw Misuse("out is given twice") }
            entry.item.output = try OutputName(value)
            entry.outputLine = number
        case "checksum":
            guard entry.item.checksum == nil else { throw Misuse("checksum is given twice") }
            entry.item.checksum = try Checksum(argument: value)
        case "header":
            entry.item.headers.append(try HeaderLine(value))
        case "public-header":
            entry.item.publicHeaders.append(try HeaderLine.nonsecret(value))
        default:
            // The message does not repeat the name, which may be a misplaced header or URL that contains a secret.
            throw Misuse("this option is not supported; the options are out, checksum, header, and public-header")
        }
        entries[entries.count - 1] = entry
    }

    /// Registers the name of the last entry, whose options are complete.
    ///
    /// An output path that is the name of another URL is an error, because one file would silently replace the other.
    private mutating func registerLast() throws(ManifestError) {
        guard var entry = entries.popLast() else { return }
        guard names.register(&entry.item) else {
            let path = entry.item.path
            let earlier = entries.first { $0.item.path == path }.map { ", on line \($0.line)" } ?? ""
            throw ManifestError(
                line: entry.outputLine ?? entry.line,
                misuse: Misuse("\(path) is already the name of the file of another URL\(earlier)"))
        }
        entries.append(entry)
    }
}

/// An error in a manifest, and its line.
struct ManifestError: Error, Hashable, CustomStringConvertible {
    /// The number of the line, starting at 1.
    let line: Int
    let misuse: Misuse

    var description: String { "\(line): \(misuse)" }
}
