#if ServerStack
internal import Foundation

/// The name or the address of a server, normalized for comparison.
enum ServerName: Sendable, Hashable {
    /// A name in lower case, without the dot at its end.
    case name(String)
    /// The 4 or 16 bytes of an address.
    case address([UInt8])

    /// Reads a host, such as the host of an ``Origin``; an IPv6 address may be in brackets.
    ///
    /// An IPv4 address may have the forms that resolvers accept, such as `127.1`.
    init(_ host: some StringProtocol) {
        var text = host.lowercased()
        if text.hasPrefix("["), text.hasSuffix("]") { text = String(text.dropFirst().dropLast()) }
        while text.hasSuffix(".") { text.removeLast() }
        self = Self.address(text) ?? Self.shortAddress(text) ?? .name(text)
    }

    /// Reads the name or the address of a host that a user has written; nil if it is neither.
    init?(written text: String) {
        if let address = Self.address(text) {
            self = address
            return
        }
        guard let url = URL(string: "https://" + text), url.port == nil,
            url.path().isEmpty, url.query() == nil, url.fragment() == nil, url.user() == nil, let origin = Origin(url)
        else { return nil }
        self.init(origin.host)
        // Patterns are refused, because they would match no host.
        if case .name(let name) = self, name.contains("*") || name.hasPrefix(".") || name.contains("..") { return nil }
    }

    /// Returns an address in the usual form of its family.
    static func address(_ text: String) -> Self? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if inet_pton(family, text, &bytes) == 1 { return .address(bytes) }
        }
        return nil
    }

    private static func shortAddress(_ text: String) -> Self? {
        var address = in_addr()
        guard text.utf8.first.map({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) ?? false,
            inet_aton(text, &address) != 0
        else { return nil }
        return withUnsafeBytes(of: address.s_addr) { .address(Array($0)) }
    }
}
#endif
