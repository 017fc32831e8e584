internal import Foundation

extension DownloadedFile: CustomStringConvertible {
    /// The path if there is one, the length, and the URL that answered without what may be secret in it: fit for a log.
    public var description: String {
        "\(data == nil ? url.path : "memory"), \(byteCount) bytes from \(finalURL.redacted)"
    }
}

extension DownloadedFile: CustomReflectable {
    /// A mirror without children, since the URL and the bytes may hold secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
