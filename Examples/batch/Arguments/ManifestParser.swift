internal import AsyncDownloads

/// A parser of lists of downloads, which is given one line at a time.
///
/// There are three forms of lines. Unindented lines that begin with `{` are objects of JSON Lines (``ManifestObject``).
/// Other lines have the format of aria2's input files, in which tabs separate a URL from the URLs of its mirrors.
///
///     # A comment.
///     https://example.org/a.bin	https://mirror.example.org/a.bin
///       out=sub/a.bin
///       checksum=sha-256=9f86d08…
///       header=Accept: text/csv
///     {"url":"https://example.org/b.bin","sha256":"9f86d08…"}
///
/// The options are `out`, `name` (for a file whose server suggests no name), `dir`, `checksum`, `size`, `header`, `mirror`, and
/// `public-header`, for a header that is not secret. Any other option is an error, because ignoring it could put a file in the
/// wrong place. The lines of a list of digests (``DigestLine``) have a third form.
struct ManifestParser: Sendable {
    /// A file and the lines that describe it.
    struct Entry: Sendable, Hashable {
        /// The number of the first line, starting at 1.
        let line: Int
        var item: Item
        /// The number of the line with the output path, if there is one.
        var outputLine: Int?
        fileprivate var directory: OutputName?
    }

    /// The meaning of the lines.
    enum Form: Sendable, Hashable {
        /// The lines describe downloads.
        case downloads
        /// The lines contain digests and the names of files below the base.
        case digests
    }

    private let form: Form
    private let base: BaseAddress?
    /// The number of lines so far.
    private(set) var lineCount = 0
    /// The entry to which the next lines may add options.
    private var pending: Entry?
    /// The number of bytes of the options of ``pending``.
    private var optionByteCount = 0
    private static let longestOptions = 1 << 20
    /// Whether the last entry was returned before the line of another one was known.
    private var isLastComplete = false

    init(_ form: Form = .downloads, base: BaseAddress? = nil) {
        self.form = form
        self.base = base
    }

    /// Whether an entry may still get options.
    var hasPending: Bool { pending != nil }

    /// Parses a line, which is UTF-8 without LF, and returns the entry that it completes, if it does.
    mutating func take(_ bytes: some Collection<UInt8>) throws(ManifestError) -> Entry? {
        lineCount += 1
        do throws(Misuse) {
            guard let entry = try parse(bytes) else { return nil }
            let complete = complete()
            (pending, isLastComplete, optionByteCount) = (entry, false, 0)
            return complete
        } catch {
            throw ManifestError(line: lineCount, misuse: error)
        }
    }

    /// Returns the last entry without waiting for more options, at the end or if no more lines arrive for a while.
    mutating func complete() -> Entry? {
        guard var entry = pending else { return nil }
        (pending, isLastComplete) = (nil, true)
        if let directory = entry.directory {
            if let output = entry.item.output { entry.item.output = output.within(directory) }
            entry.item.subdirectory = directory.path
        }
        return entry
    }

    /// Parses a line; returns the entry that it begins, if it does.
    private mutating func parse(_ bytes: some Collection<UInt8>) throws(Misuse) -> Entry? {
        guard var text = String(wellFormedUTF8: Array(bytes)) else {
            // It may be an option of the entry.
            if let first = bytes.first, first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") { pending = nil }
            throw Misuse("not valid UTF-8")
        }
        if lineCount == 1, text.unicodeScalars.first == "\u{FEFF}" { text.unicodeScalars.removeFirst() }
        if text.unicodeScalars.last == "\r" { text.unicodeScalars.removeLast() }
        // Scalars are compared, because a delimiter and a combining mark after it form one `Character`.
        let isIndented = text.unicodeScalars.first == " " || text.unicodeScalars.first == "\t"
        let content = text.trimmingWhitespace()
        guard !content.isEmpty, content.unicodeScalars.first != "#" else { return nil }
        if form == .digests { return Entry(line: lineCount, item: try digestItem(text), outputLine: lineCount) }
        guard !isIndented else {
            do throws(Misuse) {
                try parseOption(content)
            } catch {
                // The entry isn't what its lines say.
                pending = nil
                throw error
            }
            return nil
        }
        if content.utf8.first == UInt8(ascii: "{") {
            let item = try ManifestObject(content).item(base: base)
            return Entry(line: lineCount, item: item, outputLine: lineCount)
        }
        let fields = content.utf8.split(separator: UInt8(ascii: "\t"))
        var addresses: [Address] = []
        for field in fields {
            addresses.append(try Address(String(decoding: field, as: UTF8.self).trimmingWhitespace(), base: base))
        }
        return Entry(line: lineCount, item: Item(address: addresses.removeFirst(), mirrors: addresses))
    }

    private func digestItem(_ text: String) throws(Misuse) -> Item {
        guard let base else { throw Misuse("the names of a list of digests require --base") }
        let line = try DigestLine(text)
        let output = try OutputName(line.name)
        return Item(address: try base.address(of: output.path), output: output, checksum: line.checksum)
    }

    private mutating func parseOption(_ text: String) throws(Misuse) {
        optionByteCount += text.utf8.count
        guard optionByteCount <= Self.longestOptions else { throw Misuse("the options of a URL are longer than 1 MiB") }
        guard var entry = pending else {
            throw Misuse(
                isLastComplete
                    ? "the line comes too late: the download of the URL above it has started"
                    : "an indented line needs a URL above it")
        }
        let scalars = text.unicodeScalars
        guard let equals = scalars.firstIndex(of: "=") else { throw Misuse("an indented line has the form name=value") }
        let name = text[..<equals].trimmingWhitespace()
        let value = String(scalars[scalars.index(after: equals)...]).trimmingWhitespace()
        switch name {
        case "out":
            guard entry.outputLine == nil else { throw Misuse("out is given twice") }
            entry.item.output = try OutputName(value)
            entry.outputLine = lineCount
        case "name":
            let name = try OutputName(value)
            guard entry.item.numberedName == nil else { throw Misuse("name is given twice") }
            guard !name.path.utf8.contains(UInt8(ascii: "/")) else { throw Misuse("name contains no directories") }
            entry.item.numberedName = name.path
        case "dir":
            guard entry.directory == nil else { throw Misuse("dir is given twice") }
            entry.directory = try OutputName.directory(value)
        case "checksum":
            guard entry.item.checksum == nil else { throw Misuse("checksum is given twice") }
            entry.item.checksum = try Checksum(argument: value)
        case "header":
            entry.item.headers.append(try HeaderLine(value))
        case "public-header":
            entry.item.publicHeaders.append(try HeaderLine.nonsecret(value))
        case "size":
            guard entry.item.byteCount == nil else { throw Misuse("size is given twice") }
            guard let count = Int64(value), count >= 0 else { throw Misuse("size is a number of bytes") }
            entry.item.byteCount = count
        case "mirror":
            entry.item.mirrors.append(try Address(value, base: base))
        default:
            // The message does not repeat the name, which may be a misplaced header or URL that contains a secret.
            throw Misuse(
                "this option is not supported; the options are out, name, dir, checksum, size, header, public-header, and mirror"
            )
        }
        pending = entry
    }
}

/// An error in a manifest, and its line.
struct ManifestError: Error, Hashable, CustomStringConvertible {
    /// The number of the line, starting at 1.
    let line: Int
    let misuse: Misuse

    var description: String { "\(line): \(misuse)" }
}
