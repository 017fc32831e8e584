extension FileName {
    /// Returns the name with a number before its extension, such as `a-1.txt` for `a.txt`, cut to 255 bytes.
    static func numbered(_ name: String, _ number: Int) -> String {
        let fileExtension = fileExtension(of: name)
        let ending = "-\(number)\(fileExtension)"
        let stem = String(decoding: name.utf8.dropLast(fileExtension.utf8.count), as: UTF8.self)
        return prefix(of: stem, maximumByteCount: maximumByteCount - ending.utf8.count) + ending
    }
}
