internal import struct Foundation.Data

/// The dictionary in resume data, which is a property list or a keyed archive of one.
///
/// The contents determine the form, not the system. An archive is read without NSKeyedUnarchiver, which terminates the
/// process for some malformed archives, and whose result for a well-formed archive depends on classes that don't exist
/// on Linux.
struct ResumeDictionary {
    private let list: any PropertyList
    private let entries: [String: Int]
    /// The numbers of an archive's objects, to which references point.
    private let objects: [Int]

    /// - Throws: ``DownloadError/Code/resumeDataUnusable``, with the reason.
    init(_ data: Data) throws(DownloadError) {
        guard data.count <= Self.maximumByteCount else {
            throw .unusable("the resume data is longer than \(Self.maximumByteCount) bytes")
        }
        let bytes = [UInt8](data)
        let isBinary = bytes.starts(with: BinaryPropertyList.header)
        guard let list: any PropertyList = isBinary ? BinaryPropertyList(bytes) : XMLPropertyList(bytes),
            let root = list.value(at: list.root)
        else { throw .unusable("the resume data is not a property list") }
        guard case .dictionary(let outer) = root else { throw .unusable("the resume data is not a dictionary") }
        self.list = list
        if outer["$archiver"] == nil {
            (entries, objects) = (outer, [])
        } else if let archive = Self.archive(outer, in: list) {
            (entries, objects) = archive
        } else {
            throw .unusable("the resume data is an archive that does not contain a dictionary")
        }
    }

    /// Returns the text at `key`, or `nil` if there is none.
    func string(_ key: String) -> String? {
        switch value(key) {
        case .string(let text): text
        // The archived form of a mutable string.
        case .dictionary(let object): object["NS.string"].flatMap(list.string)
        default: nil
        }
    }

    /// Returns the integer at `key`, or `nil` if there is none.
    func integer(_ key: String) -> Int64? {
        if case .integer(let number) = value(key) { number } else { nil }
    }

    /// Returns whether there is a value of any kind at `key`.
    func contains(_ key: String) -> Bool { value(key) != nil }

    /// The maximum length of resume data, far more than the requests in it need.
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

    /// Returns a value, or the value that it refers to.
    ///
    /// One step is sufficient, because the objects of an archive aren't references. Object 0 stands for nil.
    fileprivate func value(at number: Int, among objects: [Int]) -> PropertyListValue? {
        guard let value = value(at: number) else { return nil }
        guard let reference = reference(value) else { return value }
        return 1..<max(objects.count, 1) ~= reference ? self.value(at: objects[reference]) : nil
    }

    /// Returns the position that a UID contains, or `nil` if the value isn't a UID.
    ///
    /// In XML, and in binary lists that were converted from XML, a UID is a dictionary with one entry.
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
