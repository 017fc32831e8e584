/// What an engine requires of TLS, and what it presents in it.
package struct SecuritySettings: Sendable {
    /// The root certificates that are trusted in addition to those of the system.
    package var additionalTrustRoots: TrustRoots?
    /// The certificate that is presented to servers that request one.
    package var clientIdentity: ClientIdentity?
    /// The keys of which a server must have one, by its host.
    package var pinnedPublicKeys: [String: Set<PublicKeyHash>]

    package init(
        additionalTrustRoots: TrustRoots? = nil, clientIdentity: ClientIdentity? = nil,
        pinnedPublicKeys: [String: Set<PublicKeyHash>] = [:]
    ) {
        self.additionalTrustRoots = additionalTrustRoots
        self.clientIdentity = clientIdentity
        self.pinnedPublicKeys = pinnedPublicKeys
    }
}
