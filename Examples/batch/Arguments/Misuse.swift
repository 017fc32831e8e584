/// An error in the user's input; its description states the valid form.
struct Misuse: UserError, Hashable {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// An error that the user can mend, and that no download has caused.
protocol UserError: Error, CustomStringConvertible {}
