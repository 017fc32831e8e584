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
        let resolver = try #require(FamilyResolver(family, on: loop))
        let four = try await resolver.initiateAQuery(host: "127.0.0.1", port: 80).get()
        let six = try await resolver.initiateAAAAQuery(host: "::1", port: 80).get()
        #expect(four.map(\.ipAddress) == (family == .ipv4 ? ["127.0.0.1"] : []))
        #expect(six.map(\.ipAddress) == (family == .ipv6 ? ["::1"] : []))
        #expect(FamilyResolver(.any, on: loop) == nil)
    }
}
#endif
