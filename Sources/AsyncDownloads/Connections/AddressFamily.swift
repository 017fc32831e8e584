/// The kind of internet addresses to which connections are made.
///
/// With a proxy, the setting applies to the connection to the proxy, which chooses the addresses of servers itself. If
/// a host has no address of the chosen kind, the download fails with ``DownloadError/Code/hostNotFound``.
public struct AddressFamily: Sendable, Hashable, CustomStringConvertible {
    /// The name of the kind, which is stable across versions.
    public let name: String

    /// The name of the kind, the same as ``name``.
    public var description: String { name }

    /// IPv6 and IPv4, in the order of RFC 8305 (happy eyeballs).
    public static let any = Self(name: "any")
    /// IPv4 only.
    public static let ipv4 = Self(name: "ipv4")
    /// IPv6 only.
    public static let ipv6 = Self(name: "ipv6")
}
