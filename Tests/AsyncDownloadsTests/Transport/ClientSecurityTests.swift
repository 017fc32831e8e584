#if ServerStack
import Foundation
import LoopbackServer
import NIOSSL
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of certificates of clients, and of pinned public keys.
@Suite(.endsWhenHung) struct ClientSecurityTests {
    private static let serverKey = "sha256//1sZaXaEiQWVHnpayQNpWwIFEqFlVOvIX+PLgzTKvX7Q="
    private static let otherKey = "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

    /// Downloads `/file` from a server with TLS.
    ///
    /// - Returns: The log of the download, and the number of requests that the server has received.
    private func download(
        from host: String = "127.0.0.1", requiresClient: Bool = false, redirects: Bool = false,
        configure: (inout Downloader.Configuration) throws -> Void
    ) async throws -> (EventLog, requestCount: Int) {
        let roots = try TrustRoots(pem: Data(Certificate.root.utf8))
        var configuration = Downloader.Configuration()
        configuration.transport = .nio
        configuration.additionalTrustRoots = roots
        configuration.retryPolicy = .never
        configuration.idleTimeout = .seconds(900)
        configuration.proxy = .none
        try configure(&configuration)
        let downloader = Downloader(configuration: configuration)
        var log: EventLog?
        var requestCount = 0
        try await LoopbackServer.withServer(isSecure: true, requiresClient: requiresClient) { server in
            server.serve(Resource(Content(seed: 1, length: 1000)), at: "file")
            try await LoopbackServer.withServer(isSecure: true) { first in
                first.serve(
                    Resource(
                        Content(seed: 1, length: 0), script: [[.redirect(location: server.url("file").absoluteString)]]),
                    at: "first")
                let text = (redirects ? first.url("first") : server.url("file")).absoluteString
                let url = try #require(URL(string: text.replacing("127.0.0.1", with: host)))
                log = await EventLog(of: downloader.start(DownloadRequest(from: url, to: .memory)))
                requestCount = server.requests().count
            }
        }
        await downloader.shutdown()
        return (try #require(log), requestCount)
    }

    private func identity() throws -> ClientIdentity {
        try ClientIdentity(certificates: Data(Certificate.client.utf8), key: Data(Certificate.clientKey.utf8))
    }

    @Test func `a server that requires a certificate accepts the client's`() async throws {
        let (log, _) = try await download(requiresClient: true) { $0.clientIdentity = try identity() }
        #expect(log.file != nil, "\(String(describing: log.error))")
    }

    @Test func `a server that requires a certificate refuses a client without one`() async throws {
        let (log, count) = try await download(requiresClient: true) { _ in }
        #expect(log.error?.code == .secureConnectionFailed)
        #expect(count == 0)
    }

    @Test func `boundary 4: the certificate is not presented after a redirect to another origin`() async throws {
        let (log, count) = try await download(requiresClient: true, redirects: true) {
            $0.clientIdentity = try identity()
        }
        #expect(log.error?.code == .secureConnectionFailed)
        #expect(count == 0)
    }

    @Test(
        arguments: [
            (["127.0.0.1": [serverKey]], "127.0.0.1", true), (["127.0.0.1": [otherKey, serverKey]], "127.0.0.1", true),
            (["127.0.0.1": [otherKey]], "127.0.0.1", false), (["127.0.0.1": []], "127.0.0.1", false),
            (["localhost": [otherKey]], "127.0.0.1", true), (["LocalHost.": [otherKey]], "localhost", false),
            (["localhost": [serverKey], "LOCALHOST": [otherKey]], "localhost", false),
            (["127.1": [otherKey]], "127.0.0.1", false),
        ] as [([String: [String]], String, Bool)])
    func `a server whose key is not an expected one receives no request`(
        _ pins: [String: [String]], _ host: String, _ isExpected: Bool
    ) async throws {
        for redirects in host == "127.0.0.1" ? [false, true] : [false] {
            let (log, count) = try await download(from: host, redirects: redirects) {
                $0.pinnedPublicKeys = pins.mapValues { Set($0.compactMap(PublicKeyHash.init)) }
            }
            #expect((log.file != nil) == isExpected, "\(String(describing: log.error))")
            #expect(log.error.map(\.code) == (isExpected ? nil : .secureConnectionFailed))
            #expect(count == (isExpected ? 1 : 0))
        }
    }

    @Test func `the key of the target of a redirect is checked`() async throws {
        let (log, count) = try await download(from: "localhost", redirects: true) {
            $0.pinnedPublicKeys["127.0.0.1"] = Set([Self.otherKey].compactMap(PublicKeyHash.init))
        }
        #expect(log.error?.code == .secureConnectionFailed)
        #expect(count == 0)
    }

    @Test func `an expected key does not replace a trusted certificate`() async throws {
        let (log, count) = try await download {
            $0.additionalTrustRoots = nil
            $0.pinnedPublicKeys["127.0.0.1"] = Set([Self.serverKey].compactMap(PublicKeyHash.init))
        }
        #expect(log.error?.code == .secureConnectionFailed)
        #expect(count == 0)
    }

    @Test(
        arguments: [
            ("clientIdentity", .urlSession), ("clientIdentity", .httpClient), ("pinnedPublicKeys", .urlSession),
            ("pinnedPublicKeys", .httpClient), ("proxy", .urlSession), ("proxy", .httpClient),
            ("addressFamily", .urlSession), ("addressFamily", .httpClient),
        ] as [(String, Downloader.TransportChoice)])
    func `an engine without a setting refuses each request`(
        _ setting: String, _ engine: Downloader.TransportChoice
    ) async throws {
        let (log, count) = try await download { configuration in
            configuration.additionalTrustRoots = nil
            configuration.transport = engine
            configuration.proxy = .environment
            switch setting {
            case "clientIdentity": configuration.clientIdentity = try identity()
            case "pinnedPublicKeys": configuration.pinnedPublicKeys["a"] = []
            case "addressFamily": configuration.addressFamily = .ipv4
            default: configuration.proxy = .none
            }
        }
        #expect(log.error?.code == .unsupported)
        #expect(count == 0)
    }

    @Test(arguments: [
        "a.example:443", "https://a.example", " a.example", "a.example/", "", "u@a.example", "a b", "*.a.example",
        ".a.example",
        "a..example",
    ])
    func `pinned keys of what is no host fail each request`(_ host: String) async throws {
        let (log, count) = try await download { $0.pinnedPublicKeys[host] = [] }
        #expect(log.error?.code == .invalidRequest)
        #expect(count == 0)
    }

    @Test(arguments: [
        ("example.com", ServerName.name("example.com")), ("Example.COM..", .name("example.com")),
        ("bücher.example", .name("xn--bcher-kva.example")), ("127.0.0.1", .address([127, 0, 0, 1])),
        ("127.1", .address([127, 0, 0, 1])), ("::1", .address([UInt8](repeating: 0, count: 15) + [1])),
        ("[0:0:0:0:0:0:0:1]", .address([UInt8](repeating: 0, count: 15) + [1])), ("1.example", .name("1.example")),
    ])
    func `a host has one form`(_ text: String, _ server: ServerName) {
        #expect(ServerName(written: text) == server)
    }

    /// The certificate contains the address 127.0.0.1 and the name localhost.
    @Test(arguments: [
        ("127.0.0.1", true), ("localhost", true), ("LOCALHOST.", true), ("127.0.0.2", false), ("name.invalid", false),
        ("a.localhost", false), ("::1", false),
    ])
    func `boundary 23: a certificate has to name the server`(_ host: String, _ isCertificate: Bool) throws {
        let certificate = try NIOSSLCertificate(bytes: Array(Certificate.server.utf8), format: .pem)
        #expect(CertificateVerifier.isCertificate(certificate, of: ServerName(host)) == isCertificate)
    }

    @Test(arguments: [
        ("a.wild.example", true), ("xn--bcher-kva.wild.example", true), ("a_b.wild.example", true),
        ("A.WILD.EXAMPLE", true),
        ("wild.example", false), (".wild.example", false), ("a.b.wild.example", false), ("upper.example", true),
        ("my_b.example", true), ("my_b.example.", true), ("foo.part.example", false), ("cn.example", false),
        ("192.0.2.1", true),
        ("192.0.2.2", false), ("[2001:db8:0::1]", true), ("2001:db8::2", false), ("K.wild.example", true),
    ])
    func `boundary 23: names and addresses of a certificate are compared exactly`(
        _ host: String, _ isCertificate: Bool
    ) throws {
        let certificate = try NIOSSLCertificate(bytes: Array(Self.alternativeNames.utf8), format: .pem)
        #expect(CertificateVerifier.isCertificate(certificate, of: ServerName(host)) == isCertificate)
    }

    @Test func `the common name of a certificate is not read`() throws {
        let certificate = try NIOSSLCertificate(bytes: Array(Self.commonName.utf8), format: .pem)
        #expect(!CertificateVerifier.isCertificate(certificate, of: ServerName("cn.example")))
    }

    @Test func `an encrypted key needs its password, and one text may contain both parts`() throws {
        let text = Data((Certificate.client + "\n" + Self.encryptedKey).utf8)
        _ = try ClientIdentity(certificates: text, key: text, password: "secret")
        for password in [nil, "", "wrong", "pässwort"] {
            let error = try #require(throws: DownloadError.self) {
                try ClientIdentity(certificates: text, key: text, password: password)
            }
            #expect(error.code == .clientIdentityUnusable)
        }
    }

    @Test(arguments: [
        ("", Certificate.clientKey, "empty"), ("x", Certificate.clientKey, "certificates"),
        (Certificate.client, "", "private key"),
        (Certificate.client, Certificate.client, "private key"),
        (Certificate.clientKey, Certificate.clientKey, "certificates"),
        (Certificate.client, Certificate.key, "the key isn't that"),
    ])
    func `a certificate without its key is refused`(_ certificates: String, _ key: String, _ words: String) throws {
        let error = try #require(throws: DownloadError.self) {
            try ClientIdentity(certificates: Data(certificates.utf8), key: Data(key.utf8))
        }
        #expect(error.code == .clientIdentityUnusable && !error.isRetryable)
        #expect(error.detail.contains(words), "\(error.detail)")
    }

    @Test func `a file that doesn't exist is refused, and its path is not repeated`() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "missing-\(UUID())")
        let error = try #require(throws: DownloadError.self) { try ClientIdentity(certificateFile: file) }
        #expect(error.code == .clientIdentityUnusable)
        #expect(error.detail == "the file doesn't exist")
    }

    @Test func `a hash is 32 bytes in Base64`() {
        #expect(PublicKeyHash(Self.serverKey)?.description == Self.serverKey)
        #expect(PublicKeyHash(String(Self.serverKey.dropFirst(8)))?.description == Self.serverKey)
        for text in ["", "sha256//", "sha256//AAAA", "sha1//" + Self.serverKey.dropFirst(8), "x"] {
            #expect(PublicKeyHash(text) == nil)
        }
    }

    /// For *.wild.example, UPPER.example, my_b.example, f*.part.example, 192.0.2.1, and 2001:db8::1; until 2126.
    private static let alternativeNames = """
        -----BEGIN CERTIFICATE-----
        MIIB4zCCAYqgAwIBAgIUPRZhK3+BE4c8dUpCzw3GNPcIGs4wCgYIKoZIzj0EAwIw
        FTETMBEGA1UEAwwKY24uZXhhbXBsZTAgFw0yNjExMjUxNzAwMTVaGA8yMTI2MTEw
        MTE3MDAxNVowFTETMBEGA1UEAwwKY24uZXhhbXBsZTBZMBMGByqGSM49AgEGCCqG
        SM49AwEHA0IABF5wXpAGolPBB2pdfnSAgctfCtsAKblDY2Uws8XH9b61nYjDQAqh
        LUYY8FeJd05E8UgIXOKreJyqQNxPI3EKJq6jgbUwgbIwHQYDVR0OBBYEFCnO83pc
        aclrv7yzbnS1GuTr2AWMMB8GA1UdIwQYMBaAFCnO83pcaclrv7yzbnS1GuTr2AWM
        MA8GA1UdEwEB/wQFMAMBAf8wXwYDVR0RBFgwVoIOKi53aWxkLmV4YW1wbGWCDVVQ
        UEVSLmV4YW1wbGWCDG15X2IuZXhhbXBsZYIPZioucGFydC5leGFtcGxlhwTAAAIB
        hxAgAQ24AAAAAAAAAAAAAAABMAoGCCqGSM49BAMCA0cAMEQCIFg2sYT269lprEMk
        VcH445UPnmQIjqE/nrxhCSSzBj1GAiBs0aoqJKniVlex+sE2V57GVit/RLMSdT3t
        kX19g3o2VA==
        -----END CERTIFICATE-----
        """

    /// With the common name cn.example, and no alternative names.
    private static let commonName = """
        -----BEGIN CERTIFICATE-----
        MIIBgTCCASegAwIBAgIUa221pHsO0qv/o27rFiX8MJFpG5cwCgYIKoZIzj0EAwIw
        FTETMBEGA1UEAwwKY24uZXhhbXBsZTAgFw0yNjExMjUxNzAwMTVaGA8yMTI2MTEw
        MTE3MDAxNVowFTETMBEGA1UEAwwKY24uZXhhbXBsZTBZMBMGByqGSM49AgEGCCqG
        SM49AwEHA0IABH+CjktgwmYnA1/faqB2Wv8sWGqGdx7DIe+HPPeY6IhRrKV5wns6
        GrpB9Ok3xg7satqkIs+y6WRL55IMmwkoym2jUzBRMB0GA1UdDgQWBBSax/pnU8tL
        T0tQ9C0AeknBykXZLDAfBgNVHSMEGDAWgBSax/pnU8tLT0tQ9C0AeknBykXZLDAP
        BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIC/Cqk1hj1LwycVsrvEF
        qFRyAQU/cN3/aYyq4kZze0MGAiEA9okVkntJvCt24xfGhdiTQB+O4px9hIWAmm+I
        e80lpeI=
        -----END CERTIFICATE-----
        """

    private static let encryptedKey = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAihI4D7mcAaIwICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEHKSo7F3kCF4HMNVkM3KGdsEgZBc
        Md+6bp/ab91kg8YrhvLj0vGBeqwWo+k6PH35jpMjdsMg0Atu+MgpERdP2/n4qqtu
        Am6Y0OXSESb6D7nP0uSJDIObXjRZKGD3kexXCPbXOkZXhbJqzdGxul8k2VKqnwTP
        axzq3KHcb6tQ53RNvPcTKWW4gToJss27GA5xYU2vcM5nAOWY86MYmfAfF9y1AYw=
        -----END ENCRYPTED PRIVATE KEY-----
        """
}
#endif
