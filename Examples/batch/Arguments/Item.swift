internal import AsyncDownloads
internal import Foundation

/// A file to download.
struct Item: Sendable, Hashable {
    /// The position among all items, starting at 0.
    var id = 0
    var address: Address
    var output: OutputName?
    /// The directory below the output directory, if the item gives no path itself.
    var subdirectory = ""
    /// The name with a number, if another URL has the name of this one.
    var numberedName: String?
    var checksum: Checksum?
    var headers: [HeaderLine] = []
    /// Headers that may be sent to other origins and recorded on disk.
    var publicHeaders: [HeaderLine] = []
    var maximumByteCount: Int64?
    var connectionCount: Int?

    /// The name of the file if the user gave no path and the server suggests no name.
    var fileName: String {
        numberedName ?? DownloadRequest(from: address.url, into: URL(fileURLWithPath: "/")).defaultFileName
    }

    /// The path of the file in the output directory, unless the server suggests a name.
    var path: String {
        output?.path ?? (subdirectory.isEmpty ? fileName : "\(subdirectory)/\(fileName)")
    }

    /// Returns the error of an item whose subdirectory, which was derived from a URL, leads out of `directory`.
    ///
    /// A path that the user gave may contain symbolic links.
    func pathError(in directory: URL) -> DownloadError? {
        var url = directory
        for component in subdirectory.utf8.split(separator: UInt8(ascii: "/")) {
            url.append(path: String(decoding: component, as: UTF8.self), directoryHint: .isDirectory)
            // The attributes are those of a link itself.
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: url.path) else { return nil }
            if attributes[.type] as? FileAttributeType == .typeSymbolicLink {
                return DownloadError(
                    .destinationUnusable, "\(url.lastPathComponent) is a symbolic link", url: address.url)
            }
        }
        return nil
    }

    /// The name that is displayed until the file is finished.
    var name: String {
        if let output { return output.path }
        if let numberedName { return numberedName }
        let name = address.url.lastPathComponent
        return name.isEmpty || name == "/" ? address.url.host() ?? "" : name
    }

    /// Returns the request for the item.
    ///
    /// If the user gave no name, the library chooses the server's or the default one.
    func request(into directory: URL) -> DownloadRequest {
        let headers = HeaderFields(headers + publicHeaders)
        var request =
            if let output {
                DownloadRequest(
                    from: address.url, to: output.url(in: directory), headers: headers, checksum: checksum)
            } else {
                DownloadRequest(
                    from: address.url,
                    into: subdirectory.isEmpty
                        ? directory : directory.appending(path: subdirectory, directoryHint: .isDirectory),
                    headers: headers, checksum: checksum)
            }
        if let numberedName { request.defaultFileName = numberedName }
        // A header that is given both as public and as secret is secret.
        request.nonsecretHeaders = Set(publicHeaders.map { $0.name.lowercased() }).subtracting(
            self.headers.map { $0.name.lowercased() })
        request.maximumByteCount = maximumByteCount
        request.connectionCount = connectionCount
        return request
    }
}
