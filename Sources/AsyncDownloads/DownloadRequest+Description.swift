internal import Foundation

extension DownloadRequest: CustomStringConvertible {
    /// The URL without what may be secret in it, the destination, and the names of the headers: fit for a log.
    public var description: String {
        // What is no name may be a whole line with a secret in it.
        let names = headers.map { $0.name.utf8.allSatisfy(\.isTokenCharacter) ? $0.name : "?" }.joined(separator: ", ")
        return "\(url.redacted) to \(destination)" + (names.isEmpty ? "" : " with \(names)")
    }
}

extension DownloadRequest.Destination: CustomStringConvertible {
    /// The path, or that there is none.
    public var description: String {
        switch self {
        case .file(let url): url.path
        case .directory(let url): "\(url.path)/"
        case .memory: "memory"
        }
    }
}

extension DownloadRequest: CustomReflectable {
    /// A mirror without children, since the URL and the headers may hold secrets; see ``description``.
    public var customMirror: Mirror { .opaque(self) }
}
