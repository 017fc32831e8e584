#if ServerStack
import Foundation
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of addresses of proxies, and of the choice of a proxy.
@Suite(.endsWhenHung) struct ProxyAddressTests {
    @Test(
        arguments: [
            ("http://proxy.example:3128", .http(isSecure: false), "proxy.example", 3128, nil),
            ("proxy.example:3128", .http(isSecure: false), "proxy.example", 3128, nil),
            ("proxy.example", .http(isSecure: false), "proxy.example", 1080, nil),
            ("HTTPS://Proxy.Example/", .http(isSecure: true), "proxy.example", 443, nil),
            ("socks5://127.0.0.1", .socks, "127.0.0.1", 1080, nil),
            ("socks5h://[::1]:9050/?x#y", .socks, "::1", 9050, nil),
            ("user:secret@proxy:1", .http(isSecure: false), "proxy", 1, "user:secret"),
            ("http://us%40er:p%3As%2Fs@proxy:1", .http(isSecure: false), "proxy", 1, "us@er:p:s/s"),
            ("http://user:a@b@proxy:1", .http(isSecure: false), "proxy", 1, "user:a@b"),
            ("http://user@proxy:1", .http(isSecure: false), "proxy", 1, "user:"),
            ("socks5://user@proxy:1", .socks, "proxy", 1, "user:"),
        ] as [(String, ProxyServer.Kind, String, Int, String?)])
    func `an address is read as curl reads it`(
        _ text: String, _ kind: ProxyServer.Kind, _ host: String, _ port: Int, _ credentials: String?
    ) throws {
        let proxy = try ProxyServer(text)
        #expect(proxy.kind == kind)
        #expect(proxy.host == host)
        #expect(proxy.port == port)
        #expect(proxy.credentials.map { "\($0.user):\($0.password)" } == credentials)
    }

    @Test(
        arguments: [
            ("socks4://proxy:1", .unsupported), ("socks4a://proxy", .unsupported), ("ftp://proxy", .unsupported),
            ("", .invalidRequest), ("http://", .invalidRequest), ("http://:80", .invalidRequest),
            ("http://proxy:0", .invalidRequest), ("http://proxy:65536", .invalidRequest),
            ("http://proxy:x", .invalidRequest), ("http://[::1", .invalidRequest), ("http://[::1]x", .invalidRequest),
            ("http://a b", .invalidRequest), ("http://a\r\nb", .invalidRequest), ("http://a%0d%0ab", .invalidRequest),
            ("http://%zz:x@proxy", .invalidRequest), ("socks5://:x@proxy", .invalidRequest),
            ("socks5://user:\(String(repeating: "a", count: 256))@proxy", .invalidRequest),
        ] as [(String, DownloadError.Code)])
    func `an address that can't be used is an error without its text`(_ text: String, _ code: DownloadError.Code) throws
    {
        let error = try #require(throws: DownloadError.self) { try ProxyServer(text) }
        #expect(error.code == code)
        #expect(!error.isRetryable)
        #expect(!error.detail.contains("proxy:") && !error.detail.contains("user"))
    }

    @Test func `no description contains the credentials`() throws {
        let text = "http://user:secret@proxy.example:3128"
        let choice = ProxyChoice.server(try #require(URL(string: text)))
        for value in [try ProxyServer(text), choice] as [Any] {
            var dumped = ""
            dump(value, to: &dumped)
            #expect("\(value)" == "proxy.example:3128")
            #expect(!dumped.contains("secret"))
        }
    }

    /// Returns the proxy of a URL, or the code of an error.
    private func proxy(of url: String, _ environment: [String: String]) throws -> String? {
        let rules = ProxyRules(.environment, environment: environment)
        let origin = try #require(URL(string: url).flatMap { Origin($0) })
        do throws(DownloadError) {
            return try rules.server(for: origin)?.description
        } catch {
            return error.code.name
        }
    }

    @Test(
        arguments: [
            ("http://a/", ["http_proxy": "p:1"], "p:1"), ("https://a/", ["http_proxy": "p:1"], nil),
            ("http://a/", ["HTTP_PROXY": "p:1"], nil), ("https://a/", ["HTTPS_PROXY": "p:1"], "p:1"),
            ("https://a/", ["https_proxy": "p:1", "HTTPS_PROXY": "p:2"], "p:1"),
            ("https://a/", ["https_proxy": "", "HTTPS_PROXY": "p:2"], "p:2"),
            ("http://a/", ["all_proxy": "p:1"], "p:1"), ("https://a/", ["ALL_PROXY": "p:1"], "p:1"),
            ("http://a/", ["all_proxy": "p:1", "http_proxy": "p:2"], "p:2"), ("http://a/", [:], nil),
            ("http://a/", ["all_proxy": "p:1", "no_proxy": "a"], nil),
            ("http://a/", ["all_proxy": "p:1", "NO_PROXY": "a"], nil),
            ("http://a/", ["all_proxy": "p:1", "no_proxy": "b", "NO_PROXY": "a"], "p:1"),
            ("http://a/", ["http_proxy": "socks4://p:1"], "unsupported"),
            ("http://a/", ["http_proxy": "socks4://p:1", "no_proxy": "a"], nil),
        ] as [(String, [String: String], String?)])
    func `the environment chooses the proxy as with curl`(
        _ url: String, _ environment: [String: String], _ expected: String?
    ) throws {
        #expect(try proxy(of: url, environment) == expected)
    }

    @Test(arguments: [
        ("example.com", "example.com", true), ("www.example.com", "example.com", true),
        ("www.example.com", ".example.com", true), ("example.com", ".example.com", true),
        ("notexample.com", "example.com", false), ("example.com.", "example.com", true),
        ("example.com", "Example.com.", true), ("example.com", "a, example.com ,b", true),
        ("example.com", "a example.com", true), ("example.com", "*", true), ("example.com", "*,a", false),
        ("example.com", "", false), ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "0.0.1", false),
        ("127.0.0.1", "127.0.0.0/8", true), ("128.0.0.1", "127.0.0.0/8", false), ("10.1.2.3", "10.1.2.0/23", true),
        ("10.1.4.3", "10.1.2.0/23", false), ("10.1.2.3", "0.0.0.0/0", true), ("10.1.2.3", "10.1.2.3/33", false),
        ("10.1.2.3", "10.1.2.3/", false), ("[::1]", "::1", true), ("[::1]", "[::1]", true),
        ("[fd00::1]", "fd00::/8", true), ("[fe00::1]", "fd00::/8", false), ("10.0.0.1", "::/0", false),
        ("localhost", "localhost", true), ("a.localhost", "localhost", true), ("127.2", "127.0.0.2", true),
        ("0x7f.2", "127.0.0.0/8", true), ("10.1.2.3.", "10.1.2.3", true), ("[0:0:0:0:0:0:0:1]", "::1", true),
        ("127.2", "127.2", false),
    ])
    func `exceptions are names, addresses, and networks`(_ host: String, _ list: String, _ isException: Bool) {
        #expect(ProxyExceptions(list).contain(host) == isException)
    }
}
#endif
