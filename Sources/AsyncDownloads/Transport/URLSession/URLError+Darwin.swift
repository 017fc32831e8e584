#if canImport(Darwin)
internal import Foundation

extension URLError {
    /// Whether the network is available, but the session or the user does not permit its use.
    var isNetworkForbidden: Bool { networkUnavailableReason != nil }

    /// The meaning of code -1011, which reports a response that can't be interpreted.
    static var meaningOfBadServerResponse: DownloadError.Code { .malformedResponse }
}
#endif
