internal import Foundation

extension URL {
    /// The scheme, host, port, and path of the URL, which may appear in a log or an error.
    ///
    /// The query and the user information may contain signatures, tokens, and passwords. The path stays
    /// percent-encoded, so that its control characters don't reach a log or a terminal. If the URL has no host,
    /// everything after the scheme may be secret and is omitted.
    package var redacted: String {
        guard let host = host(percentEncoded: true), !host.isEmpty else { return "\(scheme ?? "?"):" }
        var text = "\(scheme ?? "?")://" + (host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host)
        if let port { text += ":\(port)" }
        return text + path(percentEncoded: true)
    }
}
