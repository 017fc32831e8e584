internal import Foundation

/// A request in normal form; two values are equal if the requests can share one transfer (``SharingKey``).
struct TransferKey: Sendable, Hashable {
    /// The URL in normal form (RFC 9110, 4.2.3).
    ///
    /// The scheme and the host are in lowercase, the path is at least `/`, and a default port and the fragment are
    /// removed.
    let url: String
    /// The nonsecret headers, sorted by name; the order of different names has no meaning in HTTP (RFC 9110, 5.3).
    let headers: HeaderFields
    /// The headers by which the server identifies the user (``CallerHeaders/credentials``).
    let secretHeaders: HeaderFields
    /// The caller's ``DownloadRequest/identity``.
    let identity: String?
    /// The caller's ``DownloadRequest/account``, which is compared instead of the secret headers.
    let account: String?
    /// The key of the resource for this user.
    let sharingKey: SharingKey

    init(url: URL, headers: CallerHeaders, identity: String? = nil, account: String? = nil) {
        self.identity = identity
        self.account = account
        self.url = Self.url(of: url)
        self.headers = headers.publicFields.sortedByName
        secretHeaders = headers.credentials
        let resource = ResourceKey(
            url: self.url, identity: identity, headers: Self.pairs(of: self.headers), account: account)
        sharingKey = SharingKey(resource, secretHeaders: secretHeaders)
    }

    /// Returns the text by which URLs are compared: the normal form without the fragment.
    static func url(of url: URL) -> String { url.absoluteStringInNormalForm ?? normalForm(of: url) }

    /// Returns the normal form of a URL from its components.
    static func normalForm(of url: URL) -> String {
        guard var components = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return url.absoluteString }
        components.fragment = nil
        (components.percentEncodedUser, components.percentEncodedPassword) = (nil, nil)
        let (scheme, host) = (components.scheme?.lowercased(), components.percentEncodedHost?.lowercased())
        components.scheme = scheme
        components.percentEncodedHost = host
        let (port, ownPort) = (components.port, scheme.flatMap { Origin.defaultPorts[$0] })
        if port == nil || port == ownPort { components.port = nil }
        if components.percentEncodedPath.isEmpty { components.percentEncodedPath = "/" }
        return components.string ?? url.absoluteString
    }
}

extension HeaderFields {
    // Swift's sort is stable, which keeps the significant order of fields with equal names.
    var sortedByName: Self { Self(sorted { $0.name.lowercased() < $1.name.lowercased() }) }
}

extension TransferKey {
    init(_ request: DownloadRequest) {
        self.init(
            url: request.url, headers: request.callerHeaders, identity: request.identity, account: request.account)
    }

    /// The nonsecret headers as a checkpoint records them: name and value pairs.
    var headerPairs: [[String]] { Self.pairs(of: headers) }

    private static func pairs(of headers: HeaderFields) -> [[String]] { headers.map { [$0.name, $0.value] } }

    /// The digest of the key, which represents the key in the tables of the downloader.
    var digest: HashDigest { HashDigest(sharingKey) }

    static func == (left: Self, right: Self) -> Bool { left.sharingKey == right.sharingKey }

    func hash(into hasher: inout Hasher) { hasher.combine(sharingKey) }
}

extension DownloadRequest {
    /// The headers, with the caller's declaration of nonsecret names.
    var callerHeaders: CallerHeaders {
        var fields = headers
        if let basic = urlCredentials?.basic, fields["Authorization"] == nil { fields["Authorization"] = basic }
        return CallerHeaders(fields, nonsecretNames: nonsecretHeaders, authorizer: authorizer?.number)
    }
}
