#if ServerStack
internal import Foundation
internal import NIOCore
internal import NIOPosix

/// A resolver that returns only addresses of one family.
///
/// NIO's default resolver, which is used if both families are allowed, isn't public. A resolver is used for one name.
final class FamilyResolver: Resolver, Sendable {
    private let family: AddressFamily
    private let loop: any EventLoop

    /// Creates a resolver; nil if both families are allowed.
    init?(_ family: AddressFamily, on loop: any EventLoop) {
        guard family != .any else { return nil }
        self.family = family
        self.loop = loop
    }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        addresses(.ipv4, AF_INET, host: host, port: port)
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        addresses(.ipv6, AF_INET6, host: host, port: port)
    }

    /// Does nothing, because getaddrinfo(3) can't be canceled.
    func cancelQueries() {}

    private func addresses(
        _ family: AddressFamily, _ number: Int32, host: String, port: Int
    ) -> EventLoopFuture<[SocketAddress]> {
        guard family == self.family else { return loop.makeSucceededFuture([]) }
        let promise = loop.makePromise(of: [SocketAddress].self)
        DispatchQueue.runBlocking { promise.completeWith(Result { try Self.resolve(host, port, number) }) }
        return promise.futureResult
    }

    /// Returns the addresses of a name; blocks on the network.
    private static func resolve(_ host: String, _ port: Int, _ family: Int32) throws -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_family = family
        hints.ai_protocol = Int32(IPPROTO_TCP)
        var first: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &first)
        defer { if let first { freeaddrinfo(first) } }
        // NIO reports this error as part of an `NIOConnectionError`.
        guard status == 0 else { throw DownloadError(.hostNotFound, host) }
        return sequence(first: first) { $0?.pointee.ai_next }.prefix { $0 != nil }.compactMap { entry in
            guard let address = UnsafeRawPointer(entry?.pointee.ai_addr) else { return nil }
            return family == AF_INET
                ? SocketAddress(address.load(as: sockaddr_in.self), host: host)
                : SocketAddress(address.load(as: sockaddr_in6.self), host: host)
        }
    }
}

extension AddressFamily {
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
