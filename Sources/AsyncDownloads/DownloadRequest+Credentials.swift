internal import struct Foundation.URL

/// The credentials that a request sends, and the redirects that it follows.
extension DownloadRequest {
    /// Supplies secret headers for each attempt, such as an access token that has to be renewed; `nil` for none.
    ///
    /// ```swift
    /// request.account = user.id
    /// request.authorize = { authorization in
    ///     let token = try await session.token(isExpired: authorization.reason == .status(401))
    ///     return ["Authorization": "Bearer \(token)"]
    /// }
    /// ```
    ///
    /// The closure is called once for each attempt, before its first request, and again if the server responds with 401.
    /// The fields replace those of ``headers`` with the same names. All of them are secret, whatever their names are: they
    /// are sent to the origin of ``url`` and to ``credentialOrigins`` only, also after redirects and with URLs that
    /// ``refreshURL`` supplies. Redirects and further connections of the attempt use the same fields. If the server responds
    /// with 401 again, ``refreshURL`` is asked; without it, the download fails with the server's response. An error that the
    /// closure throws counts as a failed attempt (``DownloadError/Code/authorizationFailed``).
    ///
    /// With an ``account``, bytes are continued whatever token the closure supplies. Without one, the closure counts as a
    /// secret header whose value is the closure itself: copies of the request continue each other's bytes within a process,
    /// and other bytes need a proof. Downloads that share a transfer share one call, to the closure of one of them. A
    /// background session fails with ``DownloadError/Code/unsupported``.
    public var authorize: (@Sendable (AuthorizationRequest) async throws -> HeaderFields)? {
        get { options.authorizer?.body }
        set { options.authorizer = newValue.map { Authorizer($0) } }
    }

    /// The origins besides that of ``url`` to which secret headers are sent after a redirect, such as
    /// `https://cdn.example.com`.
    ///
    /// Each is a scheme and a host, with a port unless it is the scheme's default. If ``url`` is an https URL, only https
    /// origins are accepted. Other values are refused with ``DownloadError/Code/invalidRequest``. A redirect to an origin
    /// that isn't listed removes the secret headers until the next attempt, even if a later redirect leads to a listed one.
    public var credentialOrigins: Set<String> {
        get { options.credentialOrigins }
        set { options.credentialOrigins = newValue }
    }

    /// Decides whether a redirect is followed; `nil` follows each redirect that the package permits.
    ///
    /// The closure is called for each redirect of each attempt that isn't refused anyway, on a thread of the engine, so it
    /// must not block. If it returns `false`, the download fails with ``DownloadError/Code/redirectRefused``, and its bytes
    /// are kept. Other downloads that share the transfer aren't affected. A background session fails with
    /// ``DownloadError/Code/unsupported``, because the system follows redirects itself.
    public var shouldFollowRedirect: (@Sendable (RedirectProposal) -> Bool)? {
        get { options.redirectDecision?.body }
        set { options.redirectDecision = newValue.map { IdentifiedClosure($0) } }
    }

    /// The user name and the password that ``url`` was set with, if any.
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
