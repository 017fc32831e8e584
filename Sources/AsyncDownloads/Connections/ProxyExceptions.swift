#if ServerStack
#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

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

    /// Creates the exceptions of a list, whose entries are separated by commas or white space.
    ///
    /// An entry is a name, which includes all names below it and may begin with a dot; an address; a network in the form
    /// `192.168.0.0/16`; or a list that is only `*`, for all hosts. Entries of another form match no host.
    init(_ list: String) {
        let words = list.split { $0 == "," || $0.isWhitespace }
        entries = words == ["*"] ? [.everything] : words.compactMap(Self.entry)
    }

    /// Returns whether a host is on the list.
    ///
    /// - Parameter host: A name in lower case or an address; an IPv6 address may be in brackets.
    func contain(_ host: String) -> Bool {
        let address = IPAddress.bytes(of: Self.withoutBrackets(host[...]))
        let name = host.hasSuffix(".") ? host.dropLast() : host[...]
        return entries.contains { entry in
            switch entry {
            case .everything: true
            case .domain(let domain): address == nil && (name == domain || name.hasSuffix("." + domain))
            case .network(let network, let bitCount): address.map { IPAddress.agree($0, network, bitCount) } ?? false
            }
        }
    }

    private static func entry(_ word: Substring) -> Entry? {
        let parts = withoutBrackets(word).split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        if let network = parts.first.flatMap({ IPAddress.bytes(of: withoutBrackets($0)) }) {
            guard parts.count == 2 else { return .network(network, bitCount: network.count * 8) }
            guard let bitCount = Int(parts[1]), 0...network.count * 8 ~= bitCount else { return nil }
            return .network(network, bitCount: bitCount)
        }
        var domain = word.lowercased()[...]
        if domain.hasSuffix(".") { domain.removeLast() }
        if domain.hasPrefix(".") { domain.removeFirst() }
        return domain.isEmpty ? nil : .domain(String(domain))
    }

    private static func withoutBrackets(_ text: Substring) -> Substring {
        text.hasPrefix("[") && text.hasSuffix("]") ? text.dropFirst().dropLast() : text
    }
}

/// Addresses of the Internet Protocol in their binary form.
private enum IPAddress {
    /// Returns the 4 or 16 bytes of an address, or nil if `text` isn't one.
    static func bytes(of text: Substring) -> [UInt8]? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if inet_pton(family, String(text), &bytes) == 1 { return bytes }
        }
        return nil
    }

    /// Returns whether two addresses are of one family and have the same first bits.
    static func agree(_ address: [UInt8], _ network: [UInt8], _ bitCount: Int) -> Bool {
        guard address.count == network.count else { return false }
        return zip(address, network).enumerated().allSatisfy { index, bytes in
            let mask = ~(UInt8(0xFF) >> max(0, min(8, bitCount - index * 8)))
            return bytes.0 & mask == bytes.1 & mask
        }
    }
}
#endif
