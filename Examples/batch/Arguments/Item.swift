internal import AsyncDownloads
internal import Foundation

/// One file that is asked for.
struct Item: Sendable, Hashable {
    /// The place among all that is asked for, from 0.
    var id = 0
    var address: Address
    var output: OutputName?
    var checksum: Checksum?
    var headers: [HeaderLine] = []
    /// Headers that may cross origins and be recorded.
    var publicHeaders: [HeaderLine] = []
    var maximumByteCount: Int64?

    /// The name it goes by until it is finished.
    var name: String {
        if let output { return output.path }
        let name = address.url.lastPathComponent
        return name.isEmpty || name == "/" ? address.url.host() ?? "" : name
    }

    /// What the library is asked for: where the user gave no name, it takes the server's, or the URL's.
    func request(into directory: URL) -> DownloadRequest {
        let headers = HeaderFields(headers + publicHeaders)
        var request =
            if let output {
                DownloadRequest(
                    from: address.url, to: output.url(in: directory), headers: headers, checksum: checksum)
            } else {
                DownloadRequest(from: address.url, into: directory, headers: headers, checksum: checksum)
            }
        // A name that is given both ways is a secret's.
        request.nonsecretHeaders = Set(publicHeaders.map { $0.name.lowercased() }).subtracting(
            self.headers.map { $0.name.lowercased() })
        request.maximumByteCount = maximumByteCount
        return request
    }
}
