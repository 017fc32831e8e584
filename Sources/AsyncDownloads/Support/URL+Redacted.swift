internal import Foundation

extension URL {
    /// Scheme, host, port and path only: what a log or an error may show.
    ///
    /// Query and user information carry signatures, tokens and passwords. The path stays encoded, so that no control
    /// character of it reaches a log or a terminal.
    package var redacted: String {
        let host = host(percentEncoded: true) ?? ""
        var text = "\(scheme ?? "?")://" + (host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host)
        if let port { text += ":\(port)" }
        return text + path(percentEncoded: true)
    }
}
