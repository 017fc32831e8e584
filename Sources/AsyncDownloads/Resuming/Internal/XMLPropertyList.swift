/// A property list in Apple's XML format, read in one pass without recursion.
struct XMLPropertyList: PropertyList {
    let root: Int

    private let values: [PropertyListValue]

    /// Fails unless the text is UTF-8 and contains exactly one value inside `<plist>`.
    init?(_ bytes: [UInt8]) {
        var reader = Reader(scanner: XMLScanner(bytes))
        guard reader.readAll(), let root = reader.root else { return nil }
        self.root = root
        values = reader.values
    }

    func value(at number: Int) -> PropertyListValue? {
        values.indices.contains(number) ? values[number] : nil
    }
}

/// The parser that collects the values; it keeps open collections on its own stack.
private struct Reader {
    var scanner: XMLScanner
    var values: [PropertyListValue] = []
    var root: Int?

    private var open: [Collection] = []

    private struct Collection {
        let element: String
        var elements: [Int] = []
        var entries: [String: Int] = [:]
        /// The key whose value is expected next.
        var key: String?

        /// Adds the value with this number; fails in a dictionary if a key is expected.
        mutating func add(_ number: Int) -> Bool {
            guard element == "dict" else {
                elements.append(number)
                return true
            }
            guard let key else { return false }
            self.key = nil
            return entries.updateValue(number, forKey: key) == nil
        }
    }

    init(scanner: XMLScanner) { self.scanner = scanner }

    /// Reads up to `</plist>`; text after it is ignored.
    mutating func readAll() -> Bool {
        guard let first = scanner.nextTag(), first.name == "plist", first.kind == .start else { return false }
        while let tag = scanner.nextTag() {
            if tag.name == "plist" { return tag.kind == .end && open.isEmpty && root != nil }
            guard read(tag) else { return false }
        }
        return false
    }

    private mutating func read(_ tag: XMLScanner.Tag) -> Bool {
        switch tag.name {
        case "array", "dict": return readCollection(tag)
        case "key", "string", "integer", "real", "date", "data", "true", "false":
            guard tag.kind != .end, let text = tag.kind == .empty ? "" : scanner.text(upToEndOf: tag.name)
            else { return false }
            switch tag.name {
            case "key": return setKey(text)
            case "string": return add(.string(text))
            case "integer": return add(Int64(text).map { .integer($0) } ?? .other)
            default: return add(.other)
            }
        default: return false
        }
    }

    private mutating func readCollection(_ tag: XMLScanner.Tag) -> Bool {
        if tag.kind != .end { open.append(Collection(element: tag.name)) }
        if tag.kind == .start { return true }
        guard let last = open.popLast(), last.element == tag.name, last.key == nil else { return false }
        return add(last.element == "dict" ? .dictionary(last.entries) : .array(last.elements))
    }

    private mutating func setKey(_ key: String) -> Bool {
        guard let last = open.last, last.element == "dict", last.key == nil else { return false }
        open[open.count - 1].key = key
        return true
    }

    /// Adds a complete value to the innermost open collection, or makes it the root.
    private mutating func add(_ value: PropertyListValue) -> Bool {
        let number = values.count
        values.append(value)
        if !open.isEmpty { return open[open.count - 1].add(number) }
        guard root == nil else { return false }
        root = number
        return true
    }
}
