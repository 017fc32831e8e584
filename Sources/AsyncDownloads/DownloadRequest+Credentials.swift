internal import struct Foundation.URL

/// The credentials that a request sends, and the redirects that it follows.
extension DownloadRequest {
    /// A closure that supplies secret headers for each attempt, such as an access token that expires; `nil` for none.
    ///
    /// ```swift
    /// request.account = user.id
    /// request.authorize = { authorization in
    ///     let token = try await session.token(isExpired: authorization.reason == .status(401))
    ///     return ["Authorization": "Bearer \(token)"]
    /// }
    /// ```
    ///
    /// The closure is called once for each attempt, before its first request, and again if the server responds with
    /// 401. The fields replace ``headers`` with the same names. All of them are secret, regardless of their names: they
    /// are sent only to the origin of ``url`` and to ``credentialOrigins``, even after redirects and with URLs that
    /// ``refreshURL`` supplies. Redirects and additional connections of the attempt use the same fields. If the server
    /// responds with 401 again, ``refreshURL`` is called; without it, the download fails with the server's response. An
    /// error that the closure throws counts as a failed attempt (``DownloadError/Code/authorizationFailed``).
    ///
    /// With an ``account``, received bytes are continued regardless of the token that the closure supplies. Without
    /// one, the closure counts as a secret header whose value is the closure itself: within a process, copies of the
    /// request continue each other's bytes, and all other bytes must be verified first (see ``account``). Downloads
    /// that share a transfer share one call, made to the closure of one of them. A background session fails with
    /// ``DownloadError/Code/unsupported``.
    public var authorize: (@Sendable (AuthorizationRequest) async throws -> HeaderFields)? {
        get { options.authorizer?.body }
        set { options.authorizer = newValue.map { Authorizer($0) } }
    }

    /// The additional origins to which secret headers are sent after a redirect, such as `https://cdn.example.com`.
    ///
    /// Each value is a scheme and a host, followed by the port unless it is the scheme's default. The origin of ``url``
    /// is always included. If ``url`` is an https URL, only https origins are accepted. Other values are refused with
    /// ``DownloadError/Code/invalidRequest``. A redirect to an origin that isn't listed removes the secret headers
    /// until the next attempt, even if a later redirect leads to a listed one.
    public var credentialOrigins: Set<String> {
        get { options.credentialOrigins }
        set { options.credentialOrigins = newValue }
    }

    /// A closure that returns whether to follow a redirect; `nil` follows every redirect that the package permits.
    ///
    /// The closure is called in each attempt for each redirect that the package permits. It runs on a thread of the
    /// engine, so it must not block. If it returns `false`, the download fails with
    /// ``DownloadError/Code/redirectRefused``, and its bytes are kept. Other downloads that share the transfer aren't
    /// affected. A background session fails with ``DownloadError/Code/unsupported``, because the system follows
    /// redirects itself.
    public var shouldFollowRedirect: (@Sendable (RedirectProposal) -> Bool)? {
        get { options.redirectDecision?.body }
        set { options.redirectDecision = newValue.map { IdentifiedClosure($0) } }
    }

    /// The user name and the password that ``url`` contained when it was set, if any.
    var urlCredentials: URLCredentials? { options.urlCredentials }

    /// The closure of ``authorize``, with its identity.
    var authorizer: Authorizer? { options.authorizer }

    /// The origin of ``url``, and ``credentialOrigins``.
    var authorizedOrigins: Set<Origin> {
        var origins = Set(credentialOrigins.compactMap { Origin(text: $0) })
        if let own = Origin(url) { origins.insert(own) }
        return origins
    }
}
