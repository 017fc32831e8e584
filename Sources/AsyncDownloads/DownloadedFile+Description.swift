internal import Foundation

extension DownloadedFile: CustomStringConvertible {
    /// The path, the length, and the URL that answered without what may be secret in it: fit for a log.
    public var description: String {
        "\(url.path), \(byteCount) bytes from \(finalURL.redacted)"
    }
}
