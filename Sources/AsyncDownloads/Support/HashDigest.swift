/// A hash of 128 bits that stands for a value in the tables of this process.
///
/// The hash is keyed with the random seed of the process (SipHash), so no one outside the process can choose values
/// with equal hashes, and the probability that two values have equal hashes by chance is negligible even for billions
/// of values. A table with these keys needs no copies of the values.
struct HashDigest: Sendable, Hashable {
    private let high: Int
    private let low: Int

    /// Creates the digest of a value.
    init(_ value: some Hashable) {
        (high, low) = (Self.hash(value, variant: 0), Self.hash(value, variant: 1))
    }

    /// Creates the digest of a text, which differs for different bytes of equivalent characters.
    init(bytesOf text: String) {
        self.init(ByteText(text))
    }

    // Half of the digest suffices here, because its bits are evenly distributed; `==` compares both halves.
    func hash(into hasher: inout Hasher) {
        hasher.combine(low)
    }

    private static func hash(_ value: some Hashable, variant: UInt8) -> Int {
        var hasher = Hasher()
        hasher.combine(variant)
        hasher.combine(value)
        return hasher.finalize()
    }
}

/// A text that is compared and hashed by its bytes.
///
/// Two `String` values are equal if their characters are canonically equivalent, such as an accented letter in one or
/// two scalars. File names, headers, and other external names differ if their bytes differ.
struct ByteText: Sendable, Hashable {
    let text: String

    init(_ text: String) {
        self.text = text
    }

    static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    func hash(into hasher: inout Hasher) {
        hasher.combine(text.utf8.count)
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// Returns the bytes in lowercase hexadecimal, with two digits for each byte.
func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    bytes.reduce(into: "") { $0 += hexadecimal($1) }
}

/// Returns the number in lowercase hexadecimal, including leading zeros.
func hexadecimal<Number: FixedWidthInteger & UnsignedInteger>(_ number: Number) -> String {
    let count = Number.bitWidth / 4
    return String(unsafeUninitializedCapacity: count) { digits in
        var rest = number
        for index in (0..<count).reversed() {
            let digit = UInt8(truncatingIfNeeded: rest & 0xF)
            digits[index] = digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
            rest >>= 4
        }
        return count
    }
}

/// The CRC-32 of ISO 3309, as used by gzip and PNG.
///
/// It detects torn and edited records but proves nothing about origin.
enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 0 ? value >> 1 : 0xEDB8_8320 ^ (value >> 1) }
    }

    /// Returns the CRC-32 of `bytes`.
    static func value(of bytes: some Sequence<UInt8>) -> UInt32 {
        var value = UInt32.max
        for byte in bytes {
            value = table[Int(UInt8(truncatingIfNeeded: value) ^ byte)] ^ (value >> 8)
        }
        return value ^ UInt32.max
    }

    /// Returns the CRC-32 of `bytes` as 8 hexadecimal digits.
    static func digits(of bytes: some Sequence<UInt8>) -> String { hexadecimal(value(of: bytes)) }
}
