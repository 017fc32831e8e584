/// An error in the user's input; its description states the valid form.
struct Misuse: Error, Hashable, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
