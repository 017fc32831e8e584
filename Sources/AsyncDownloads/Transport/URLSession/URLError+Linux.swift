#if !canImport(Darwin) && (LinuxURLSession || !ServerStack)
internal import Foundation
internal import FoundationNetworking

extension URLError {
    /// Whether the use of the network is not permitted; always false, because Linux doesn't report this.
    var isNetworkForbidden: Bool { false }

    /// The meaning of code -1011, which FoundationNetworking also reports for a connection that ends without a
    /// response.
    static var meaningOfBadServerResponse: DownloadError.Code { .connectionLost }
}
#endif
