/// A text that is compared and hashed by its bytes.
///
/// A `String` is equal to another one of equivalent characters, such as a letter with its accent in one or in two
/// scalars. Files, headers, and names that others have chosen are different if their bytes are.
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
