/// The TLS settings of an engine: the trusted roots, the client identity, and the pinned keys.
package struct SecuritySettings: Sendable {
    /// The root certificates that are trusted in addition to the system's roots.
    package var additionalTrustRoots: TrustRoots?
    /// The certificate that is presented to servers that request one.
    package var clientIdentity: ClientIdentity?
    /// The pinned keys by host; a server must have one of its host's keys.
    var pinnedPublicKeys: [String: Set<PublicKeyHash>]

    package init(
        additionalTrustRoots: TrustRoots? = nil, clientIdentity: ClientIdentity? = nil,
        pinnedPublicKeys: [String: Set<PublicKeyHash>] = [:]
    ) {
        self.additionalTrustRoots = additionalTrustRoots
        self.clientIdentity = clientIdentity
        self.pinnedPublicKeys = pinnedPublicKeys
    }
}
