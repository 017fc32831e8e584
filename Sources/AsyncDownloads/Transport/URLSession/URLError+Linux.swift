#if !canImport(Darwin) && (LinuxURLSession || !ServerStack)
internal import Foundation
internal import FoundationNetworking

extension URLError {
    /// Whether the use of the network is not permitted, which Linux doesn't report.
    var isNetworkForbidden: Bool { false }

    /// The meaning of -1011, which libcurl's session also reports for a connection that ends without a response.
    static var meaningOfBadServerResponse: DownloadError.Code { .connectionLost }
}
#endif
