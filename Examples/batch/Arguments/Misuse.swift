/// Something that the user wrote and that cannot be meant, in words that say what could be.
struct Misuse: Error, Hashable, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
