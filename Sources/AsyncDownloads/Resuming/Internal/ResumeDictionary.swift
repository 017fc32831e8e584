internal import struct Foundation.Data

/// The dictionary that resume data consists of: a property list, or inside a keyed archive of one.
///
/// What is found tells which, never the system. An archive is read by hand: NSKeyedUnarchiver ends the process on some
/// malformed archives, and what it makes of a well-formed one depends on classes that Linux does not have.
struct ResumeDictionary {
    private let list: any PropertyList
    private let entries: [String: Int]
    /// What references lead to, in an archive.
    private let objects: [Int]

    /// - Throws: ``DownloadError/Code/resumeDataUnusable``, with what is wrong.
    init(_ data: Data) throws(DownloadError) {
        guard data.count <= Self.maximumByteCount else {
            throw .unusable("it is longer than \(Self.maximumByteCount) bytes")
        }
        let bytes = [UInt8](data)
        let isBinary = bytes.starts(with: BinaryPropertyList.header)
        guard let list: any PropertyList = isBinary ? BinaryPropertyList(bytes) : XMLPropertyList(bytes),
            let root = list.value(at: list.root)
        else { throw .unusable("it is no property list") }
        guard case .dictionary(let outer) = root else { throw .unusable("it is no dictionary") }
        self.list = list
        if outer["$archiver"] == nil {
            (entries, objects) = (outer, [])
        } else if let archive = Self.archive(outer, in: list) {
            (entries, objects) = archive
        } else {
            throw .unusable("it is an archive without a dictionary")
        }
    }

    /// The text at `key`; nil where there is none.
    func string(_ key: String) -> String? {
        switch value(key) {
        case .string(let text): text
        // How a mutable string is archived.
        case .dictionary(let object): object["NS.string"].flatMap(list.string)
        default: nil
        }
    }

    /// The integer at `key`; nil where there is none.
    func integer(_ key: String) -> Int64? {
        if case .integer(let number) = value(key) { number } else { nil }
    }

    /// Whether there is anything at `key`, of whatever kind.
    func contains(_ key: String) -> Bool { value(key) != nil }

    /// Far more than the requests inside take up.
    static let maximumByteCount = 1 << 20

    private static let maximumEntryCount = 256

    private func value(_ key: String) -> PropertyListValue? {
        entries[key].flatMap { list.value(at: $0, among: objects) }
    }

    private static func archive(
        _ outer: [String: Int], in list: any PropertyList
    ) -> (entries: [String: Int], objects: [Int])? {
        guard let top = outer["$top"].flatMap(list.dictionary), let objects = outer["$objects"].flatMap(list.array),
            let root = top["NSKeyedArchiveRootObjectKey"] ?? top["root"],
            case .dictionary(let object) = list.value(at: root, among: objects),
            let keys = object["NS.keys"].flatMap(list.array), let values = object["NS.objects"].flatMap(list.array),
            keys.count == values.count, keys.count <= maximumEntryCount
        else { return nil }
        var entries: [String: Int] = [:]
        for (key, value) in zip(keys, values) {
            guard case .string(let key) = list.value(at: key, among: objects),
                entries.updateValue(value, forKey: key) == nil
            else { return nil }
        }
        return (entries, objects)
    }
}

extension PropertyList {
    fileprivate func string(_ number: Int) -> String? {
        if case .string(let text) = value(at: number) { text } else { nil }
    }

    fileprivate func array(_ number: Int) -> [Int]? {
        if case .array(let elements) = value(at: number) { elements } else { nil }
    }

    fileprivate func dictionary(_ number: Int) -> [String: Int]? {
        if case .dictionary(let entries) = value(at: number) { entries } else { nil }
    }

    /// A value, or what it refers to: one step only, since objects of an archive are no references.
    ///
    /// The first object stands for nil.
    fileprivate func value(at number: Int, among objects: [Int]) -> PropertyListValue? {
        guard let value = value(at: number) else { return nil }
        guard let reference = reference(value) else { return value }
        return 1..<max(objects.count, 1) ~= reference ? self.value(at: objects[reference]) : nil
    }

    /// The position that a UID stands for; in XML, and in binary lists made from XML, a dictionary of one entry.
    private func reference(_ value: PropertyListValue) -> Int? {
        switch value {
        case .reference(let position): return position
        case .dictionary(let entries):
            guard entries.count == 1, let number = entries["CF$UID"],
                case .integer(let position) = self.value(at: number)
            else { return nil }
            return Int(exactly: position)
        default: return nil
        }
    }
}
