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
