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
