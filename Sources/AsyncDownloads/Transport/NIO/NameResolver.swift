#if ServerStack
internal import Foundation
internal import NIOCore
internal import NIOPosix

/// A resolver of one name that calls getaddrinfo(3) on one of ``BlockingThreads``.
///
/// NIO's resolver has one thread for each event loop. There, a name whose server doesn't answer for some seconds would
/// delay the connections to all other hosts.
final class NameResolver: Resolver, Sendable {
    typealias Lookup = @Sendable (_ host: String, _ port: Int, AddressFamily) throws -> [SocketAddress]

    private let addresses: EventLoopFuture<[SocketAddress]>

    /// Creates a resolver, and begins to resolve the name.
    ///
    /// - Parameters:
    ///   - family: The kind of the returned addresses.
    ///   - loop: The event loop on which the queries are answered.
    ///   - lookup: Returns the addresses of the name; it may block.
    init(
        _ host: String, _ port: Int, _ family: AddressFamily, on loop: any EventLoop,
        lookup: @escaping Lookup = systemLookup
    ) {
        let promise = loop.makePromise(of: [SocketAddress].self)
        BlockingThreads.run { promise.completeWith(Result { try lookup(host, port, family) }) }
        addresses = promise.futureResult
    }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        addresses.map { $0.filter(AddressFamily.ipv4.includes) }
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        addresses.map { $0.filter(AddressFamily.ipv6.includes) }
    }

    /// Does nothing, because getaddrinfo(3) can't be canceled.
    func cancelQueries() {}

    /// Returns the addresses of a name from the system; blocks on the network.
    private static let systemLookup: Lookup = { host, port, family in
        var hints = addrinfo()
        hints.ai_family = family.systemValue
        hints.ai_protocol = Int32(IPPROTO_TCP)
        var first: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &first)
        defer { if let first { freeaddrinfo(first) } }
        // NIO reports either error as part of an `NIOConnectionError`. The lookup needs a descriptor, too.
        guard status == 0 else { throw DescriptorShortage.error() ?? DownloadError(.hostNotFound, host) }
        return sequence(first: first) { $0?.pointee.ai_next }.prefix { $0 != nil }.compactMap { entry in
            guard let entry, let address = UnsafeRawPointer(entry.pointee.ai_addr) else { return nil }
            switch entry.pointee.ai_family {
            case AF_INET: return SocketAddress(address.load(as: sockaddr_in.self), host: host)
            case AF_INET6: return SocketAddress(address.load(as: sockaddr_in6.self), host: host)
            default: return nil
            }
        }
    }
}

extension AddressFamily {
    /// The value of the system's constant.
    fileprivate var systemValue: Int32 {
        switch self {
        case .ipv4: AF_INET
        case .ipv6: AF_INET6
        default: AF_UNSPEC
        }
    }

    /// Returns whether connections may be made to the address.
    func includes(_ address: SocketAddress) -> Bool {
        switch address {
        case .v4: self != .ipv6
        case .v6: self != .ipv4
        default: true
        }
    }
}
#endif
