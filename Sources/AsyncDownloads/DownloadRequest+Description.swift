internal import Foundation

extension DownloadRequest: CustomStringConvertible {
    /// A description that is fit for a log: the URL without secrets, the destination, and the names of the headers.
    public var description: String {
        // Text that isn't a valid name may be a whole header line that contains a secret.
        let names = callerHeaders.fields.map { $0.name.utf8.allSatisfy(\.isTokenCharacter) ? $0.name : "?" }.joined(
            separator: ", ")
        return "\(url.redacted) to \(destination)" + (names.isEmpty ? "" : " with \(names)")
    }
}

extension DownloadRequest.Destination: CustomStringConvertible {
    /// The path of the destination, or `memory`.
    public var description: String {
        switch self {
        case .file(let url): url.path
        case .directory(let url): "\(url.path)/"
        case .memory: "memory"
        }
    }
}

extension DownloadRequest: CustomReflectable {
    /// A mirror without children, because the URL and the headers may contain secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
