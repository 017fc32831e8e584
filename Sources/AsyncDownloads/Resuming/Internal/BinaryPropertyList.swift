/// A property list in version `00` of Apple's binary format.
///
/// The format consists of a header, the objects, a table of the objects' offsets, and a trailer of 32 bytes that
/// contains the position of the table. Every position is checked before it is followed, and every count before memory
/// is allocated for it.
struct BinaryPropertyList: PropertyList {
    let root: Int

    private let bytes: [UInt8]
    private let objectCount: Int
    private let offsetTable: Int
    private let offsetSize: Int
    private let referenceSize: Int

    static let header = Array("bplist00".utf8)

    /// Fails if the header, the trailer, or the offset table is invalid.
    init?(_ bytes: [UInt8]) {
        let trailer = bytes.count - Self.trailerSize
        guard trailer > Self.header.count, bytes.starts(with: Self.header) else { return nil }
        self.bytes = bytes
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        guard 1...8 ~= offsetSize, 1...8 ~= referenceSize,
            let count = Self.number(bytes[(trailer + 8)..<(trailer + 16)]), count <= trailer,
            let root = Self.number(bytes[(trailer + 16)..<(trailer + 24)]), root < count,
            let table = Self.number(bytes[(trailer + 24)...]), Self.header.count..<trailer ~= table,
            table + count * offsetSize <= trailer
        else { return nil }
        self.root = root
        objectCount = count
        offsetTable = table
    }

    func value(at number: Int) -> PropertyListValue? {
        guard let object = object(at: number) else { return nil }
        switch object.kind {
        case 0x0, 0x2, 0x3, 0x4, 0xC: return .other
        case 0x1: return integer(object)
        case 0x5, 0x6: return string(object).map { .string($0) }
        case 0x8: return self.number(at: object.start, size: object.detail + 1).map { .reference($0) }
        case 0xA: return array(object)
        case 0xD: return dictionary(object)
        default: return nil
        }
    }

    /// The two halves of an object's first byte, and the position of its second byte.
    private struct Object {
        let kind: UInt8
        let detail: Int
        let start: Int
    }

    private static let trailerSize = 32

    // Resume data stays far below these limits. They bound the work that a few malicious bytes can cause.
    private static let maximumArrayCount = 65_536
    private static let maximumDictionaryCount = 256
    private static let maximumStringCount = 65_536
    private static let maximumKeyCount = 256

    private func object(at number: Int) -> Object? {
        guard 0..<objectCount ~= number else { return nil }
        let entry = offsetTable + number * offsetSize
        guard let offset = Self.number(bytes[entry..<(entry + offsetSize)]), Self.header.count..<offsetTable ~= offset
        else { return nil }
        return Object(kind: bytes[offset] >> 4, detail: Int(bytes[offset] & 0x0F), start: offset + 1)
    }

    /// An unsigned number in big-endian order, or `nil` if it doesn't fit into an `Int`.
    private static func number(_ bytes: ArraySlice<UInt8>) -> Int? {
        Int(exactly: bits(bytes))
    }

    private static func bits(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    private func number(at start: Int, size: Int) -> Int? {
        guard size <= 8 else { return nil }
        return content(start, size).flatMap(Self.number)
    }

    /// The bytes of an object, or `nil` if they would extend into the offset table.
    private func content(_ start: Int, _ size: Int) -> ArraySlice<UInt8>? {
        guard start <= offsetTable, size <= offsetTable - start else { return nil }
        return bytes[start..<(start + size)]
    }

    /// An integer of eight bytes is signed, a shorter one is unsigned, and one of sixteen is too large for eight.
    private func integer(_ object: Object) -> PropertyListValue? {
        guard let content = content(object.start, 1 << object.detail), content.count <= 16 else { return nil }
        let bits = Self.bits(content.suffix(8))
        guard content.count == 16 else { return .integer(Int64(bitPattern: bits)) }
        guard Self.bits(content.prefix(8)) == 0, let number = Int64(exactly: bits) else { return .other }
        return .integer(number)
    }

    /// The number of an object's elements and the position of the first; a separate integer contains counts above 14.
    private func extent(of object: Object) -> (start: Int, count: Int)? {
        guard object.detail == 0x0F else { return (object.start, object.detail) }
        guard let marker = content(object.start, 1)?.first, marker >> 4 == 0x1 else { return nil }
        let size = 1 << Int(marker & 0x0F)
        return number(at: object.start + 1, size: size).map { (object.start + 1 + size, $0) }
    }

    private func string(_ object: Object, limit: Int = maximumStringCount) -> String? {
        guard let (start, count) = extent(of: object), count <= limit else { return nil }
        if object.kind == 0x5 {
            guard let content = content(start, count), content.allSatisfy({ $0 < 0x80 }) else { return nil }
            return String(decoding: content, as: UTF8.self)
        }
        guard let content = content(start, count * 2) else { return nil }
        let units = stride(from: content.startIndex, to: content.endIndex, by: 2).map {
            UInt16(content[$0]) << 8 | UInt16(content[$0 + 1])
        }
        return String(wellFormedUTF16: units)
    }

    private func array(_ object: Object) -> PropertyListValue? {
        guard let (start, count) = extent(of: object), count <= Self.maximumArrayCount else { return nil }
        return numbers(start, count).map { .array($0) }
    }

    /// In a dictionary, all keys precede all values.
    private func dictionary(_ object: Object) -> PropertyListValue? {
        guard let (start, count) = extent(of: object), count <= Self.maximumDictionaryCount,
            let numbers = numbers(start, count * 2)
        else { return nil }
        var entries: [String: Int] = [:]
        for (key, value) in zip(numbers.prefix(count), numbers.suffix(count)) {
            // Only strings are read as keys: a key that is itself a dictionary would lead to recursion.
            guard let key = self.object(at: key), [0x5, 0x6].contains(key.kind),
                let key = string(key, limit: Self.maximumKeyCount),
                entries.updateValue(value, forKey: key) == nil
            else { return nil }
        }
        return .dictionary(entries)
    }

    private func numbers(_ start: Int, _ count: Int) -> [Int]? {
        guard let content = content(start, count * referenceSize) else { return nil }
        var numbers: [Int] = []
        for position in stride(from: content.startIndex, to: content.endIndex, by: referenceSize) {
            guard let number = Self.number(content[position..<(position + referenceSize)]) else { return nil }
            numbers.append(number)
        }
        return numbers
    }
}
