#if ServerStack
/// The hosts to which requests are sent without a proxy, in the form of `no_proxy` (curl, CURLOPT_NOPROXY).
struct ProxyExceptions: Sendable, Hashable {
    private enum Entry: Sendable, Hashable {
        case everything
        /// A name, with all names below it.
        case domain(String)
        /// The addresses that begin with these bits.
        case network([UInt8], bitCount: Int)
    }

    private let entries: [Entry]

    /// Creates the exceptions from a list with entries separated by commas or white space.
    ///
    /// An entry is a name, which includes all names below it and may begin with a dot; an address; a network in the
    /// form `192.168.0.0/16`; or a list that is only `*`, for all hosts. Entries of another form match no host.
    init(_ list: String) {
        let words = list.split { $0 == "," || $0.isWhitespace }
        entries = words == ["*"] ? [.everything] : words.compactMap(Self.entry)
    }

    /// Returns whether a host is on the list.
    func contain(_ host: String) -> Bool {
        let server = ServerName(host)
        return entries.contains { entry in
            switch (entry, server) {
            case (.everything, _): true
            case (.domain(let domain), .name(let name)): name == domain || name.hasSuffix("." + domain)
            case (.network(let network, let bitCount), .address(let address)):
                address.agrees(with: network, bitCount: bitCount)
            case (.domain, .address), (.network, .name): false
            }
        }
    }

    private static func entry(_ word: Substring) -> Entry? {
        let parts = word.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let host = parts[0].hasPrefix("[") && parts[0].hasSuffix("]") ? parts[0].dropFirst().dropLast() : parts[0]
        if case .address(let network) = ServerName.address(String(host)) {
            guard parts.count == 2 else { return .network(network, bitCount: network.count * 8) }
            guard let bitCount = Int(parts[1]), 0...network.count * 8 ~= bitCount else { return nil }
            return .network(network, bitCount: bitCount)
        }
        guard case .name(let domain) = ServerName(word.drop { $0 == "." }), !domain.isEmpty else { return nil }
        return .domain(domain)
    }
}

extension Collection<UInt8> {
    /// Returns whether two addresses have the same family and the same first bits.
    fileprivate func agrees(with network: Self, bitCount: Int) -> Bool {
        guard count == network.count else { return false }
        return zip(self, network).enumerated().allSatisfy { index, bytes in
            let mask = ~(UInt8(0xFF) >> Swift.max(0, Swift.min(8, bitCount - index * 8)))
            return bytes.0 & mask == bytes.1 & mask
        }
    }
}
#endif
