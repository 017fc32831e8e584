internal import AsyncDownloads

/// A list of downloads in the form of aria2's input files.
///
///     # A comment.
///     https://example.org/a.bin
///       out=sub/a.bin
///       checksum=sha-256=9f86d08…
///       header=Accept: text/csv
///     https://example.org/b.bin
///
/// Of aria2's options these three are known, and `public-header` for a header that is no secret. Any other is an error, since to leave one out could put a file where it
/// was not wanted.
struct Manifest: Sendable {
    /// A URL and what is said under it.
    struct Entry: Sendable, Hashable {
        /// The URL's line, from 1.
        let line: Int
        var item: Item
    }

    private(set) var entries: [Entry] = []

    /// The lines that the places of files were named in.
    private var outputs: [String: Entry] = [:]

    /// Reads the text of a manifest, in UTF-8, its lines ended by LF or CRLF.
    init(_ bytes: some Sequence<UInt8>) throws(ManifestError) {
        var number = 0
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            do throws(Misuse) {
                try take(line, number: number)
            } catch {
                throw ManifestError(line: number, misuse: error)
            }
        }
    }

    private mutating func take(_ bytes: some Sequence<UInt8>, number: Int) throws(Misuse) {
        guard var text = String(wellFormedUTF8: Array(bytes)) else { throw Misuse("this is not UTF-8") }
        if number == 1, text.unicodeScalars.first == "\u{FEFF}" { text.unicodeScalars.removeFirst() }
        if text.unicodeScalars.last == "\r" { text.unicodeScalars.removeLast() }
        // By scalars: a sign with a meaning and a combining mark behind it are one `Character`.
        let isIndented = text.unicodeScalars.first == " " || text.unicodeScalars.first == "\t"
        let content = text.trimmingWhitespace()
        guard !content.isEmpty, content.unicodeScalars.first != "#" else { return }
        if isIndented {
            try takeOption(content)
        } else {
            entries.append(Entry(line: number, item: Item(address: try Address(content))))
        }
    }

    private mutating func takeOption(_ text: String) throws(Misuse) {
        guard var entry = entries.last else { throw Misuse("an indented line belongs to a URL, and none is above it") }
        let scalars = text.unicodeScalars
        guard let equals = scalars.firstIndex(of: "=") else { throw Misuse("an indented line has the form name=value") }
        let name = text[..<equals].trimmingWhitespace()
        let value = String(scalars[scalars.index(after: equals)...]).trimmingWhitespace()
        switch name {
        case "out":
            guard entry.item.output == nil else { throw Misuse("out is given twice") }
            entry.item.output = try OutputName(value)
            try reserve(value: entry)
        case "checksum":
            guard entry.item.checksum == nil else { throw Misuse("checksum is given twice") }
            entry.item.checksum = try Checksum(argument: value)
        case "header":
            entry.item.headers.append(try HeaderLine(value))
        case "public-header":
            entry.item.publicHeaders.append(try HeaderLine.nonsecret(value))
        default:
            // The name is not repeated: it may be a header, or a URL, in the wrong place.
            throw Misuse("this option is not supported; out, checksum, header and public-header are")
        }
        entries[entries.count - 1] = entry
    }

    /// Two URLs with one place would leave the file of the one that comes later, without a word.
    private mutating func reserve(value entry: Entry) throws(Misuse) {
        guard let path = entry.item.output?.path else { return }
        if let earlier = outputs[path], earlier.item.address.url != entry.item.address.url {
            throw Misuse("\(path) is the place of another URL, on line \(earlier.line)")
        }
        outputs[path] = entry
    }
}

/// What is wrong with a manifest, and where.
struct ManifestError: Error, Hashable, CustomStringConvertible {
    /// The line, from 1.
    let line: Int
    let misuse: Misuse

    var description: String { "\(line): \(misuse)" }
}
