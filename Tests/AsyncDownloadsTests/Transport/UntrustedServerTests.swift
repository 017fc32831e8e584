import Foundation
import LoopbackServer
import TestSupport
import Testing

@testable import AsyncDownloads

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Tests of servers that can't prove their identity.
@Suite(.endsWhenHung) struct UntrustedServerTests {
    @Test(arguments: Engine.allCases)
    func `an untrusted certificate ends the download before the first request`(_ engine: Engine) async throws {
        try await LoopbackServer.withServer(isSecure: true) { server in
            server.serve(Resource(Content(seed: 1, length: 10)), at: "/object")
            try await TestEnvironment.with(engine) { environment in
                var request = environment.request("/")
                request.url = server.url("/object")
                let log = await EventLog(of: environment.downloader.start(request))
                let error = try #require(log.error)
                #expect(error.code == .secureConnectionFailed, "\(error)")
                #expect(!error.isRetryable && log.retries == [])
                #expect(server.requests().isEmpty)
                #expect(try environment.leftovers == [])
            }
        }
    }

    /// FoundationNetworking reports these errors of libcurl with a single code and libcurl's text.
    @Test(
        arguments: [
            ("SSL certificate problem: self-signed certificate", false, .secureConnectionFailed),
            (
                "SSL: no alternative certificate subject name matches target host name 'a.example'", false,
                .secureConnectionFailed
            ),
            ("OpenSSL/3.0.19: error:0A00010B:SSL routines::wrong version number", false, .secureConnectionFailed),
            ("OpenSSL SSL_read: error:0A000126:SSL routines::unexpected eof while reading", true, .connectionLost),
            ("Recv failure: Connection reset by peer", false, .connectionLost),
            (
                "Failed to connect to SSL.example port 443 after 0 ms: Couldn't connect to server", false,
                .connectionLost
            ),
        ] as [(String, Bool, DownloadError.Code)])
    func `an error with an unknown code is a TLS failure if its text says so and no head has arrived`(
        text: String, hasHead: Bool, code: DownloadError.Code
    ) throws {
        let error = URLError(.unknown, userInfo: [NSLocalizedDescriptionKey: text])
        guard case .failed(let failure) = ExchangeEnd(error, hasHead: hasHead) else {
            Issue.record("not a failure")
            return
        }
        #expect(failure.code == code)
        #expect(failure.description == "\(code): URLError -1")
    }
}
