internal import Foundation

extension URL {
    /// Scheme, host, port and path only: what a log or an error may show.
    ///
    /// Query and user information carry signatures, tokens and passwords.
    package var redacted: String {
        var text = "\(scheme ?? "?")://\(host ?? "")"
        if let port { text += ":\(port)" }
        return text + path
    }
}
