internal import Foundation

/// The system's words for its error numbers.
enum SystemErrorText {
    /// What the system says of `code`.
    static func text(_ code: Int32) -> String { String(cString: strerror(code)) }
}
