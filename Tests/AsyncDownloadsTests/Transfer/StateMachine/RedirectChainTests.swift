internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("Route", .endsWhenHung)
struct RedirectChainTests {
    private let own = CallerHeaders(
        ["Authorization": "a", "Cookie": "b", "Proxy-Authorization": "c", "X": "d"], nonsecretNames: ["X"])
    private static let credentials = ["Authorization", "Cookie", "Proxy-Authorization"]

    private func redirects() -> RedirectChain { RedirectChain(origin: .sample("https://a.example/file")) }

    @Test("rule 6: every request asks for the identity, and says who asks")
    func defaults() {
        let headers = redirects().headers([:], adding: [:])
        #expect(headers["Accept-Encoding"] == "identity")
        #expect(headers["Accept"] == "*/*")
        #expect(headers["User-Agent"] == "async-downloads")
    }

    @Test("the caller's headers are kept, but for the identity and what the range needs")
    func callersHeaders() {
        let headers = redirects().headers(
            ["accept": "text/csv", "user-agent": "me", "Accept-Encoding": "gzip", "Range": "bytes=1-"],
            adding: ["Range": "bytes=5-"])
        #expect(headers["Accept"] == "text/csv")
        #expect(headers["User-Agent"] == "me")
        #expect(headers["Accept-Encoding"] == "identity")
        #expect(headers["Range"] == "bytes=5-")
    }

    @Test("rule 11: credentials go along within the origin, relative or absolute")
    func sameOrigin() {
        var redirects = redirects()
        #expect(redirects.follow("/b") == nil)
        #expect(redirects.follow("https://a.example:443/c") == nil)
        #expect(redirects.current.absoluteString == "https://a.example:443/c")
        for name in Self.credentials { #expect(redirects.headers(own, adding: [:])[name] != nil) }
    }

    @Test(
        "rule 11: credentials stay behind when scheme, host or port changes, and do not come back",
        arguments: ["https://b.example/", "https://a.example:8443/", "https://a.example.b.example/", "//b.example/"])
    func otherOrigin(_ location: String) {
        var redirects = redirects()
        #expect(redirects.follow(location) == nil)
        #expect(redirects.follow("https://a.example/file") == nil)
        for name in Self.credentials { #expect(redirects.headers(own, adding: [:])[name] == nil) }
        #expect(redirects.headers(own, adding: [:])["X"] == "d")
    }

    @Test("rule 10: a new attempt begins at the origin, with credentials and all hops")
    func reset() {
        var redirects = redirects()
        for _ in 0..<20 { #expect(redirects.follow("https://b.example/") == nil) }
        #expect(redirects.follow("https://b.example/")?.code == .tooManyRedirects)
        redirects.reset()
        #expect(redirects.current == redirects.origin)
        #expect(redirects.headers(own, adding: [:])["Authorization"] == "a")
        #expect(redirects.follow("https://b.example/") == nil)
    }

    @Test(
        "a hop that is refused leads nowhere",
        arguments: [nil, "http://a.example/", "ftp://a.example/", "https://u@a.example/"])
    func refused(_ location: String?) {
        var redirects = redirects()
        #expect(redirects.follow(location)?.code == .redirectRefused)
        #expect(redirects.follow(location)?.isRetryable == false)
        #expect(redirects.current == redirects.origin)
    }
}

@Suite("TransferKey", .endsWhenHung)
struct TransferKeyTests {
    private func key(_ url: String, _ headers: CallerHeaders = [:]) throws -> TransferKey {
        TransferKey(url: try #require(URL(string: url)), headers: headers)
    }

    @Test(
        "rule 51: spellings of one URL are one key",
        arguments: [
            ("https://a.example/x", "https://a.example/x#fragment"),
            ("HTTPS://A.Example/x", "https://a.example/x"),
            ("https://a.example", "https://a.example/"),
            ("https://a.example?q", "https://a.example/?q"),
            ("https://[::A]/x", "https://[::a]/x"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ("https://a.example:443/x", "https://a.example/x"),
            ("HTTP://a.example:80", "http://a.example/"),
            ("https://a.example:/x", "https://a.example/x"),
            ("https://[::a]:443/x", "https://[::a]/x"),
        ])
    func same(_ left: String, _ right: String) throws {
        #expect(try key(left) == key(right))
        #expect(try Set([key(left), key(right)]).count == 1)
    }

    @Test(
        "rule 51: URLs that may be different resources are different keys",
        arguments: [
            ("https://a.example/x", "http://a.example/x"), ("https://a.example/x", "https://a.example/X"),
            ("https://a.example/x", "https://a.example/x/"), ("https://a.example/x", "https://a.example/x?"),
            ("https://a.example/?a&b", "https://a.example/?b&a"), ("https://a.example/%2F", "https://a.example//"),
            ("https://a.example/x", "https://a.example:8443/x"), ("https://a.example/%61", "https://a.example/%C3%A1"),
            ("https://a.example/x", "https://a.example:80/x"), ("http://a.example/x", "http://a.example:443/x"),
        ])
    func different(_ left: String, _ right: String) throws {
        #expect(try key(left) != key(right))
    }

    @Test("rule 51: headers are part of the key: their names in any case and order, their values as they are")
    func headers() throws {
        let reference = try key("https://a.example/", ["Accept": "x", "Authorization": "y"])
        #expect(try reference == key("https://a.example/", ["authorization": "y", "ACCEPT": "x"]))
        #expect(try reference != key("https://a.example/", ["Accept": "X", "Authorization": "y"]))
        #expect(try reference != key("https://a.example/", ["Accept": "x"]))
        #expect(
            try key("https://a.example/", ["A": "1", "A": "2"]) != key("https://a.example/", ["A": "2", "A": "1"]))
    }

    @Test("the key's URL is one that can be asked for")
    func url() throws {
        #expect(try key("HTTPS://A.example?q=%20#f").url == "https://a.example/?q=%20")
    }
}
