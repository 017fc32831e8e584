internal import Foundation

extension URL {
    /// Creates a URL from text that is a URL already, or returns `nil` if a character of it would have to be escaped.
    init?(strict text: String) {
        if #available(macOS 14, iOS 17, tvOS 17, watchOS 10, *) {
            self.init(string: text, encodingInvalidCharacters: false)
        } else {
            // The parser of the systems before these escapes nothing.
            self.init(string: text)
        }
    }
}
