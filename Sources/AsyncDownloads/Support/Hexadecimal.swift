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
