#if !canImport(Darwin)
internal import Foundation
internal import FoundationNetworking

extension URLError {
    /// Whether the use of the network is not permitted, which Linux doesn't report.
    var isNetworkForbidden: Bool { false }
}
#endif
