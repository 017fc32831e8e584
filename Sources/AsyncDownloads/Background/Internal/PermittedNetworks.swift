/// The networks that the task of a download may use, as the journal records them.
package struct PermittedNetworks: Sendable, Hashable, Codable {
    package var allowsCellular = true
    package var allowsExpensive = true
    package var allowsConstrained = true

    /// Permits all networks.
    package init() {}

    init(_ access: NetworkAccess) {
        allowsCellular = access.allowsCellular
        allowsExpensive = access.allowsExpensive
        allowsConstrained = access.allowsConstrained
    }

    /// The same networks, as a request names them.
    var access: NetworkAccess {
        NetworkAccess(
            allowsCellular: allowsCellular, allowsExpensive: allowsExpensive, allowsConstrained: allowsConstrained)
    }
}
