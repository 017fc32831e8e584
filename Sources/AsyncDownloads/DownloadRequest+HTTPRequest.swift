#if ServerStack
internal import Foundation
public import HTTPTypes

extension DownloadRequest {
    /// Creates a request from an `HTTPRequest` of swift-http-types.
    ///
    /// The URL consists of the scheme, the authority, and the path, or `/` if the path is missing. The header fields
    /// are used. This initializer requires the trait `ServerStack`.
    ///
    /// - Throws: A ``DownloadError`` with the code ``DownloadError/Code/invalidRequest`` if the method isn't GET, the
    ///   scheme or the authority is missing, or they don't form a valid URL. Header fields that can't be sent are
    ///   refused when the download starts.
    public init(_ request: HTTPRequest, to destination: Destination) throws(DownloadError) {
        let path = request.path ?? "/"
        // Without these checks, characters of one component could become part of another one and change the host.
        guard let scheme = request.scheme, let authority = request.authority, path.utf8.first == UInt8(ascii: "/"),
            !authority.utf8.contains(where: { "/?#@\\".utf8.contains($0) }),
            let url = URL(encoding: "\(scheme)://\(authority)\(path)")
        else { throw DownloadError(.invalidRequest, "the request has no URL") }
        guard request.method == .get else {
            throw DownloadError(.invalidRequest, "only GET requests can be downloaded", url: url)
        }
        self.init(from: url, to: destination)
        for field in request.headerFields { headers.append(field.value, for: field.name.rawName) }
    }
}
#endif
