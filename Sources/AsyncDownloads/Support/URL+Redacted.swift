internal import Foundation

extension URL {
    /// Scheme, host, port and path only: what a log or an error may show.
    ///
    /// Query and user information carry signatures, tokens and passwords. The path stays encoded, so that no control
    /// character of it reaches a log or a terminal. Without a host all the rest may be secret, so nothing else is shown.
    package var redacted: String {
        guard let host = host(percentEncoded: true), !host.isEmpty else { return "\(scheme ?? "?"):" }
        var text = "\(scheme ?? "?")://" + (host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host)
        if let port { text += ":\(port)" }
        return text + path(percentEncoded: true)
    }
}
