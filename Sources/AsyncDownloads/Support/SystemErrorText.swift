internal import Foundation

/// The system's descriptions of its error numbers.
enum SystemErrorText {
    /// Returns the system's description of `code`.
    static func text(_ code: Int32) -> String { String(cString: strerror(code)) }
}
