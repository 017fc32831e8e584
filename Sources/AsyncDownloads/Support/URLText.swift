internal import Foundation

/// A URL that was recorded as text.
struct URLText {
    let url: URL

    init?(_ text: String) {
        guard let url = URL(string: text) else { return nil }
        self.url = url
    }
}
