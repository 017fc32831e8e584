internal import Foundation

/// A URL that the user wrote, as text and as a parsed URL.
struct Address: Sendable, Hashable {
    /// The text as written, for comparisons only, because it may contain secrets.
    let text: String
    let url: URL

    init(_ text: String) throws(Misuse) {
        guard !text.contains("\t") else { throw Misuse("several URLs for one file are not supported") }
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }),
            let url = URL(string: text), let scheme = url.scheme?.lowercased()
        else { throw Misuse("not a valid URL") }
        guard scheme == "http" || scheme == "https" else { throw Misuse("only http and https are supported") }
        guard let host = url.host(), !host.isEmpty else { throw Misuse("the URL has no host") }
        self.text = text
        self.url = url
    }
}
