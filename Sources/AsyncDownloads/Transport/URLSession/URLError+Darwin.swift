#if canImport(Darwin)
internal import Foundation

extension URLError {
    /// Whether the network is available, and the session or the user does not permit its use.
    var isNetworkForbidden: Bool { networkUnavailableReason != nil }
}
#endif
