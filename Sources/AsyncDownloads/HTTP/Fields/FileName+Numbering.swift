extension FileName {
    /// Returns the variant of a name with a number before its extension, cut to 255 bytes.
    ///
    /// Variant 1 is the name itself, and variant 2 of `a.txt` is `a-2.txt`.
    package static func numbered(_ name: String, _ number: Int) -> String {
        guard number > 1 else { return name }
        let fileExtension = fileExtension(of: name)
        let ending = "-\(number)\(fileExtension)"
        let stem = String(decoding: name.utf8.dropLast(fileExtension.utf8.count), as: UTF8.self)
        return prefix(of: stem, maximumByteCount: maximumByteCount - ending.utf8.count) + ending
    }

    /// Returns the original name and the number, at least 2, of a numbered name; `nil` if `name` isn't numbered.
    package static func unnumbered(_ name: String) -> (name: String, number: Int)? {
        let fileExtension = fileExtension(of: name)
        let stem = name.utf8.dropLast(fileExtension.utf8.count)
        guard let hyphen = stem.lastIndex(of: UInt8(ascii: "-")),
            let number = Int(String(decoding: stem[hyphen...].dropFirst(), as: UTF8.self))
        else { return nil }
        let first = String(decoding: stem[..<hyphen], as: UTF8.self) + fileExtension
        // The number may have another form, such as a leading zero, or the name may have been cut.
        return number > 1 && numbered(first, number).hasSameBytes(as: name) ? (first, number) : nil
    }
}
