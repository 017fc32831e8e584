#if ServerStack && os(Linux)
import Foundation
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of connections over one kind of addresses.
@Suite(.endsWhenHung)
struct AddressFamilyTests {
    private static func fetch(_ url: URL, over family: AddressFamily) async -> String {
        let transport = NIOTransport(connectTimeout: .seconds(900), addressFamily: family)
        let recorder = BodyRecorder()
        _ = transport.start(ExchangeRequest(url: url, headers: [:]), beside: nil, handler: recorder)
        let result = await recorder.result()
        await transport.shutdown()
        return result
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func `a server is reached over its kind of addresses only`(host: String) async throws {
        let response = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none"
        for (family, isReached) in [(AddressFamily.ipv4, true), (.any, true), (.ipv6, false)] {
            let server = try RawServer([[response]])
            var components = try #require(URLComponents(url: server.url(), resolvingAgainstBaseURL: false))
            components.host = host
            let result = await Self.fetch(try #require(components.url), over: family)
            #expect((result == "one") == isReached, "\(family): \(result)")
            #expect(server.count.connections == (isReached ? 1 : 0))
        }
    }

    @Test(arguments: [AddressFamily.ipv4, .ipv6])
    func `a resolver returns addresses of one kind`(family: AddressFamily) async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        for (host, itsFamily) in [("127.0.0.1", AddressFamily.ipv4), ("::1", .ipv6)] {
            let resolver = NameResolver(host, 80, family, on: loop)
            if family == itsFamily {
                let four = try await resolver.initiateAQuery(host: host, port: 80).get()
                let six = try await resolver.initiateAAAAQuery(host: host, port: 80).get()
                #expect(four.map(\.ipAddress) == (family == .ipv4 ? [host] : []))
                #expect(six.map(\.ipAddress) == (family == .ipv6 ? [host] : []))
            } else {
                // The system has no address of this kind for the literal.
                await #expect(throws: DownloadError.self) {
                    try await resolver.initiateAQuery(host: host, port: 80).get()
                }
            }
        }
    }

    @Test func `names that are resolved slowly don't delay another one`() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: 80)
        let isResolved = DispatchSemaphore(value: 0)
        let slow = (0..<8).map { number in
            NameResolver("slow\(number)", 80, .any, on: loop) { _, _, _ in
                isResolved.wait()
                isResolved.signal()
                return [address]
            }
        }
        let fast = NameResolver("fast", 80, .any, on: loop) { _, _, _ in [address] }
        #expect(try await fast.initiateAQuery(host: "fast", port: 80).get() == [address])
        #expect(try await fast.initiateAAAAQuery(host: "fast", port: 80).get() == [])
        isResolved.signal()
        for resolver in slow { #expect(try await resolver.initiateAQuery(host: "", port: 80).get() == [address]) }
    }
}
#endif
