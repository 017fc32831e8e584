/// An error in the user's input, or a failure of this machine; the description states the valid form or the reason.
struct Misuse: UserError, Hashable {
    let description: String
    let isUsage: Bool

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - description: What is wrong.
    ///   - isUsage: Whether the input is wrong; if not, this machine has failed.
    init(_ description: String, isUsage: Bool = true) {
        self.description = description
        self.isUsage = isUsage
    }
}

/// An error that the user can correct, and that no download has caused.
protocol UserError: Error, CustomStringConvertible {
    /// Whether the input is wrong.
    var isUsage: Bool { get }
}

extension UserError {
    var isUsage: Bool { true }
}
