internal import AsyncDownloads
internal import Foundation

/// A file to download.
struct Item: Sendable, Hashable {
    /// The position among all items, starting at 0.
    var id = 0
    var address: Address
    var output: OutputName?
    var checksum: Checksum?
    var headers: [HeaderLine] = []
    /// Headers that may be sent to other origins and recorded on disk.
    var publicHeaders: [HeaderLine] = []
    var maximumByteCount: Int64?
    var connectionCount: Int?

    /// The name that is displayed until the file is finished.
    var name: String {
        if let output { return output.path }
        let name = address.url.lastPathComponent
        return name.isEmpty || name == "/" ? address.url.host() ?? "" : name
    }

    /// Returns the request for the item.
    ///
    /// If the user gave no name, the library chooses the server's or the URL's.
    func request(into directory: URL) -> DownloadRequest {
        let headers = HeaderFields(headers + publicHeaders)
        var request =
            if let output {
                DownloadRequest(
                    from: address.url, to: output.url(in: directory), headers: headers, checksum: checksum)
            } else {
                DownloadRequest(from: address.url, into: directory, headers: headers, checksum: checksum)
            }
        // A header that is given both as public and as secret is secret.
        request.nonsecretHeaders = Set(publicHeaders.map { $0.name.lowercased() }).subtracting(
            self.headers.map { $0.name.lowercased() })
        request.maximumByteCount = maximumByteCount
        request.connectionCount = connectionCount
        return request
    }
}
