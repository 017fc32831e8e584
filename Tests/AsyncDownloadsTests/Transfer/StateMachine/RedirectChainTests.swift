internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The chain of redirects, and the headers that are sent along it.
@Suite(.endsWhenHung)
struct RedirectChainTests {
    private let own = CallerHeaders(
        ["Authorization": "a", "Cookie": "b", "Proxy-Authorization": "c", "X": "d"], nonsecretNames: ["X"])
    private static let credentials = ["Authorization", "Cookie", "Proxy-Authorization"]

    private func redirects() -> RedirectChain { RedirectChain(origin: .sample("https://a.example/file")) }

    @Test(arguments: [
        ("https://b\u{FC}cher.example/x(1)", "xn--bcher-kva.example"),
        ("https://b\u{FC}cher.example/x", "xn--bcher-kva.example"), ("http://A.example/x(1)", "a.example"),
        ("http://[::1]:80/x", "[::1]"),
    ])
    func `rule 58: a host has one name`(_ text: String, _ host: String) throws {
        let url = try #require(URL(string: text))
        #expect(OriginPair(url).host == host)
        // A transfer requests the URL of its key.
        let key = TransferKey(DownloadRequest(from: url, to: .memory))
        #expect(OriginPair(try #require(URL(string: key.url))).host == host)
    }

    @Test
    func `rule 6: every request asks for the identity coding and names the user agent`() {
        let headers = redirects().headers([:], adding: [:])
        #expect(headers["Accept-Encoding"] == "identity")
        #expect(headers["Accept"] == "*/*")
        #expect(headers["User-Agent"] == "async-downloads")
    }

    @Test
    func `the caller's headers are kept except Accept-Encoding and Range`() {
        let headers = redirects().headers(
            ["accept": "text/csv", "user-agent": "me", "Accept-Encoding": "gzip", "Range": "bytes=1-"],
            adding: ["Range": "bytes=5-"])
        #expect(headers["Accept"] == "text/csv")
        #expect(headers["User-Agent"] == "me")
        #expect(headers["Accept-Encoding"] == "identity")
        #expect(headers["Range"] == "bytes=5-")
    }

    @Test
    func `rule 11: credentials are sent within the origin, for relative and absolute redirects`() {
        var redirects = redirects()
        #expect(redirects.follow("/b") == nil)
        #expect(redirects.follow("https://a.example:443/c") == nil)
        #expect(redirects.current.absoluteString == "https://a.example:443/c")
        for name in Self.credentials { #expect(redirects.headers(own, adding: [:])[name] != nil) }
    }

    @Test(arguments: ["https://b.example/", "https://a.example:8443/", "https://a.example.b.example/", "//b.example/"])
    func `rule 11: credentials are dropped when the scheme, host, or port changes, and stay dropped`(_ location: String)
    {
        var redirects = redirects()
        #expect(redirects.follow(location) == nil)
        #expect(redirects.follow("https://a.example/file") == nil)
        for name in Self.credentials { #expect(redirects.headers(own, adding: [:])[name] == nil) }
        #expect(redirects.headers(own, adding: [:])["X"] == "d")
    }

    @Test
    func `rule 10: a new attempt starts at the original URL with credentials and all redirects left`() {
        var redirects = redirects()
        for _ in 0..<20 { #expect(redirects.follow("https://b.example/") == nil) }
        #expect(redirects.follow("https://b.example/")?.code == .tooManyRedirects)
        redirects.reset()
        #expect(redirects.current == redirects.origin)
        #expect(redirects.headers(own, adding: [:])["Authorization"] == "a")
        #expect(redirects.follow("https://b.example/") == nil)
    }

    @Test(arguments: [nil, "http://a.example/", "ftp://a.example/", "https://u@a.example/"])
    func `a refused redirect does not change the current URL`(_ location: String?) {
        var redirects = redirects()
        #expect(redirects.follow(location)?.code == .redirectRefused)
        #expect(redirects.follow(location)?.isRetryable == false)
        #expect(redirects.current == redirects.origin)
    }
}
