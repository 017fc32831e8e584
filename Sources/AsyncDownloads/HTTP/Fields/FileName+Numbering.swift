extension FileName {
    /// Returns the variant of a name with a number before its extension, cut to 255 bytes.
    ///
    /// Number 1 is the name itself, and number 2 of `a.txt` is `a-2.txt`.
    package static func numbered(_ name: String, _ number: Int) -> String {
        guard number > 1 else { return name }
        let fileExtension = fileExtension(of: name)
        let ending = "-\(number)\(fileExtension)"
        let stem = String(decoding: name.utf8.dropLast(fileExtension.utf8.count), as: UTF8.self)
        return prefix(of: stem, maximumByteCount: maximumByteCount - ending.utf8.count) + ending
    }
}
