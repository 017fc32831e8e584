internal import AsyncDownloads
internal import Foundation

/// The settings that the options of a run add to the request of each item.
struct RequestSettings: Sendable {
    var headers: [HeaderLine] = []
    var publicHeaders: [HeaderLine] = []
    var netrc: Netrc?
    var cookies: CookieFile?
    var maximumByteCount: Int64?
    var connectionCount: Int?

    /// Returns the request for an item.
    ///
    /// - Parameters:
    ///   - item: The item.
    ///   - address: Its address, or the one of a mirror, which receives the secret headers only if it has the same origin.
    func request(for item: Item, at address: Address) -> DownloadRequest {
        var request = item.request
        let isSameOrigin = address.url.hasSameOrigin(as: item.address.url)
        let secrets = isSameOrigin ? headers + item.headers : []
        let (common, own) = (publicHeaders, item.publicHeaders)
        request.headers = HeaderFields(secrets + common + own)
        // A header that is given both as public and as secret is secret.
        request.nonsecretHeaders = Set((common + own).map { $0.name.lowercased() }).subtracting(
            secrets.map { $0.name.lowercased() })
        addCredentials(to: &request, for: address.url)
        if !item.mirrors.isEmpty {
            request.url = address.url
            request.defaultFileName = item.fileName
            // The name is written to disk, and the URL may contain secrets.
            request.identity = "mirrors-" + Digests.sha256(of: item.address.url.absoluteString)
        }
        request.maximumByteCount = maximumByteCount
        request.expectedByteCount = item.byteCount
        request.connectionCount = connectionCount
        return request
    }

    /// Adds the login of the host and the cookies of the URL, unless the request has a header of the same name.
    ///
    /// A user name or a password in the URL takes the place of the login.
    private func addCredentials(to request: inout DownloadRequest, for url: URL) {
        if request.headers["Cookie"] == nil { request.headers["Cookie"] = cookies?.header(for: url) }
        guard let login = netrc?.login(for: url), request.headers["Authorization"] == nil, url.user == nil,
            url.password == nil
        else { return }
        // The bytes are continued by the same user only. A name may be a token, so it isn't recorded. Another secret header
        // may identify the user as well, so that the login alone doesn't.
        let names = request.nonsecretHeaders
        if request.headers.allSatisfy({ names.contains($0.name.lowercased()) }) {
            request.account = "netrc-" + Digests.sha256(of: login.name)
        }
        request.headers["Authorization"] = login.basicCredentials
    }
}

extension URL {
    /// Whether the URL has the same scheme, host, and port as another URL.
    fileprivate func hasSameOrigin(as other: URL) -> Bool {
        func origin(_ url: URL) -> [String] {
            let scheme = url.scheme?.lowercased() ?? ""
            return [scheme, url.host()?.lowercased() ?? "", "\(url.port ?? (scheme == "https" ? 443 : 80))"]
        }
        return origin(self) == origin(other)
    }
}
