internal import Foundation

/// What makes two requests ask for the same resource: the URL without its fragment, or the name that the caller has
/// given it, and the headers.
struct TransferKey: Sendable, Hashable {
    /// The URL as it is sent: scheme and host in lower case, no port where it is the scheme's own, no fragment, a path at
    /// least of `/` (RFC 9110, 4.2.3).
    let url: String
    /// The public headers in the order of their names, which says nothing in HTTP (RFC 9110, 5.3).
    let headers: HeaderFields
    /// The other headers, in the order of their names.
    let secretHeaders: HeaderFields
    /// The caller's ``DownloadRequest/identity``.
    let identity: String?
    /// The caller's ``DownloadRequest/account``, which stands for the secret headers.
    let account: String?

    init(url: URL, headers: CallerHeaders, identity: String? = nil, account: String? = nil) {
        self.identity = identity
        self.account = account
        if var components = URLComponents(url: url, resolvingAgainstBaseURL: true) {
            components.fragment = nil
            let (scheme, host) = (components.scheme?.lowercased(), components.percentEncodedHost?.lowercased())
            components.scheme = scheme
            components.percentEncodedHost = host
            let (port, ownPort) = (components.port, scheme.flatMap { Origin.defaultPorts[$0] })
            if port == nil || port == ownPort { components.port = nil }
            if components.percentEncodedPath.isEmpty { components.percentEncodedPath = "/" }
            self.url = components.string ?? url.absoluteString
        } else {
            self.url = url.absoluteString
        }
        self.headers = headers.publicFields.sortedByName
        secretHeaders = headers.secretFields.sortedByName
    }
}

extension HeaderFields {
    // Swift's sort keeps the order of equal names, which does say something.
    var sortedByName: Self { Self(sorted { $0.name.lowercased() < $1.name.lowercased() }) }
}

extension TransferKey {
    init(_ request: DownloadRequest) {
        self.init(
            url: request.url, headers: request.callerHeaders, identity: request.identity, account: request.account)
    }

    /// What stands for the resource: its name where it has one, else the URL.
    var resource: String { RequestRecord.resource(url: url, identity: identity) }

    static func == (left: Self, right: Self) -> Bool {
        left.resource == right.resource && left.headers == right.headers && left.account == right.account
            && (left.account != nil || left.secretHeaders == right.secretHeaders)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(resource)
        hasher.combine(headers)
        hasher.combine(account)
        if account == nil { hasher.combine(secretHeaders) }
    }
}

extension DownloadRequest {
    /// The headers with the caller's word on which of them are no secret.
    var callerHeaders: CallerHeaders { CallerHeaders(headers, nonsecretNames: nonsecretHeaders) }
}
