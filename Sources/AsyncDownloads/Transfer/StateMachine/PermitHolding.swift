/// The permit that a transfer holds or has requested.
struct PermitHolding: Sendable {
    /// The host that a permit was requested or granted for; nil without either.
    private(set) var host: String?
    private var numbers = SerialNumbers<PermitRequestID>()

    /// Records a request for a permit, or for a move of the permit, and returns its identifier.
    mutating func request(for host: String) -> PermitRequestID {
        self.host = host
        return numbers.next()
    }

    /// Records that neither a permit nor a request is left, and returns whether there was one.
    mutating func release() -> Bool {
        defer { host = nil }
        return host != nil
    }
}
