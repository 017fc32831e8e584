#if canImport(Darwin) || LinuxURLSession || !ServerStack
#if canImport(FoundationNetworking)
internal import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

extension DownloadRequest {
    /// Creates a request from a `URLRequest` of Foundation.
    ///
    /// The URL and the header fields are used. A `timeoutInterval` other than Foundation's default of 60 seconds
    /// becomes the ``idleTimeout``, and `allowsCellularAccess` becomes a part of ``networkAccess`` if it is false.
    /// Other properties, such as the cache policy, have no effect.
    ///
    /// - Throws: A ``DownloadError`` with the code ``DownloadError/Code/invalidRequest`` if the request has no URL, a
    ///   method other than GET, or a body. Header fields that can't be sent are refused when the download starts.
    public init(_ request: URLRequest, to destination: Destination) throws(DownloadError) {
        guard let url = request.url else { throw DownloadError(.invalidRequest, "the request has no URL") }
        guard request.httpMethod?.uppercased() ?? "GET" == "GET" else {
            throw DownloadError(.invalidRequest, "only GET requests can be downloaded", url: url)
        }
        guard request.httpBody == nil, request.httpBodyStream == nil else {
            throw DownloadError(.invalidRequest, "a request with a body cannot be downloaded", url: url)
        }
        self.init(from: url, to: destination)
        for (name, value) in (request.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
            headers.append(value, for: name)
        }
        if request.timeoutInterval != Self.defaultTimeoutInterval, request.timeoutInterval > 0 {
            idleTimeout = .seconds(request.timeoutInterval)
        }
        if !request.allowsCellularAccess {
            var access = NetworkAccess()
            access.allowsCellular = false
            networkAccess = access
        }
    }

    /// The default timeout of a `URLRequest`, in seconds.
    private static let defaultTimeoutInterval: TimeInterval = 60
}
#endif
