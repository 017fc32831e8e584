/// A number of bytes that the user wrote: digits, optionally followed by K, M, or G for powers of 1024.
struct ByteCount: Sendable, Hashable {
    let value: Int64

    init(_ text: String) throws(Misuse) {
        let units: [String: Int64] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30]
        let unit = text.last.flatMap { units[$0.uppercased()] }
        let digits = unit == nil ? text[...] : text.dropLast()
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }) else {
            throw Misuse("a number of bytes consists of digits, optionally followed by K, M, or G")
        }
        let product = Int64(digits)?.multipliedReportingOverflow(by: unit ?? 1)
        guard let product, !product.overflow else { throw Misuse("the number of bytes is too large") }
        value = product.partialValue
    }
}
