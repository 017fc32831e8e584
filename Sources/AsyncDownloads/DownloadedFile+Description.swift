internal import Foundation

extension DownloadedFile: CustomStringConvertible {
    /// The path if there is one, the length, and the URL that answered without what may be secret in it: fit for a log.
    public var description: String {
        "\(data == nil ? url.path : "memory"), \(byteCount) bytes from \(finalURL.redacted)"
    }
}
