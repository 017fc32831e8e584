internal import Foundation

/// A builder of binary property lists with arbitrary bytes, well formed or not.
struct BinaryListBuilder {
    /// The objects in the order of the file; the first is the root.
    var objects: [[UInt8]]
    var offsetSize: UInt8 = 4
    var referenceSize: UInt8 = 4
    // The values of the trailer that differ from the correct ones.
    var count: UInt64?
    var root: UInt64 = 0
    var table: UInt64?
    /// The offset of the first object in the table, if it differs from the correct one.
    var firstOffset: UInt64?

    init(_ objects: [[UInt8]]) { self.objects = objects }

    var data: Data {
        var bytes = Array("bplist00".utf8)
        var offsets: [UInt64] = []
        for object in objects {
            offsets.append(UInt64(bytes.count))
            bytes += object
        }
        if let firstOffset { offsets[0] = firstOffset }
        let table = UInt64(bytes.count)
        for offset in offsets { bytes += Self.bytes(offset, size: Int(min(offsetSize, 8))) }
        bytes += [0, 0, 0, 0, 0, 0, offsetSize, referenceSize]
        for number in [count ?? UInt64(objects.count), root, self.table ?? table] {
            bytes += Self.bytes(number, size: 8)
        }
        return Data(bytes)
    }

    static func string(_ text: String) -> [UInt8] { header(0x5, text.utf8.count) + Array(text.utf8) }

    static func utf16(_ text: String) -> [UInt8] {
        header(0x6, text.utf16.count) + text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    }

    static func integer(_ number: Int64) -> [UInt8] { [0x13] + bytes(UInt64(bitPattern: number), size: 8) }

    static func uid(_ number: UInt64) -> [UInt8] { [0x87] + bytes(number, size: 8) }

    static func array(_ references: [Int]) -> [UInt8] { header(0xA, references.count) + self.references(references) }

    static func dictionary(_ entries: [(key: Int, value: Int)]) -> [UInt8] {
        header(0xD, entries.count) + references(entries.map(\.key)) + references(entries.map(\.value))
    }

    /// Returns the first byte of an object and its count; `claim` is a wrong count.
    static func header(_ kind: UInt8, _ count: Int, claim: UInt64? = nil) -> [UInt8] {
        if let claim { return [kind << 4 | 0x0F, 0x13] + bytes(claim, size: 8) }
        return count < 15 ? [kind << 4 | UInt8(count)] : [kind << 4 | 0x0F, 0x13] + bytes(UInt64(count), size: 8)
    }

    private static func references(_ numbers: [Int]) -> [UInt8] { numbers.flatMap { bytes(UInt64($0), size: 4) } }

    private static func bytes(_ number: UInt64, size: Int) -> [UInt8] {
        (0..<size).reversed().map { UInt8(truncatingIfNeeded: number >> (UInt64($0) * 8)) }
    }
}
