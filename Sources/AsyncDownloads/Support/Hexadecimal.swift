/// The bytes in lower-case hexadecimal digits, two each.
func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    bytes.reduce(into: "") { $0 += hexadecimal($1) }
}

/// The number in lower-case hexadecimal digits, all of them.
func hexadecimal<Number: FixedWidthInteger & UnsignedInteger>(_ number: Number) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: Number.bitWidth / 4 - digits.count) + digits
}
