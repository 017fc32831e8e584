/// The networks that the task of a download may use, as the journal records them.
struct PermittedNetworks: Sendable, Hashable, Codable {
    var allowsCellular = true
    var allowsExpensive = true
    var allowsConstrained = true

    /// Permits all networks.
    init() {}

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
