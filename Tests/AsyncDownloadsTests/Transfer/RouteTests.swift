internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("Route", .endsWhenHung)
struct RouteTests {
    private let own = CallerHeaders(
        ["Authorization": "a", "Cookie": "b", "Proxy-Authorization": "c", "X": "d"], nonsecretNames: ["X"])
    private static let credentials = ["Authorization", "Cookie", "Proxy-Authorization"]

    private func route() -> Route { Route(origin: .sample("https://a.example/file")) }

    @Test("rule 6: every request asks for the identity, and says who asks")
    func defaults() {
        let headers = route().headers([:], adding: [:])
        #expect(headers["Accept-Encoding"] == "identity")
        #expect(headers["Accept"] == "*/*")
        #expect(headers["User-Agent"] == "async-downloads")
    }

    @Test("the caller's headers are kept, but for the identity and what the range needs")
    func callersHeaders() {
        let headers = route().headers(
            ["accept": "text/csv", "user-agent": "me", "Accept-Encoding": "gzip", "Range": "bytes=1-"],
            adding: ["Range": "bytes=5-"])
        #expect(headers["Accept"] == "text/csv")
        #expect(headers["User-Agent"] == "me")
        #expect(headers["Accept-Encoding"] == "identity")
        #expect(headers["Range"] == "bytes=5-")
    }

    @Test("rule 11: credentials go along within the origin, relative or absolute")
    func sameOrigin() {
        var route = route()
        #expect(route.follow("/b") == nil)
        #expect(route.follow("https://a.example:443/c") == nil)
        #expect(route.current.absoluteString == "https://a.example:443/c")
        for name in Self.credentials { #expect(route.headers(own, adding: [:])[name] != nil) }
    }

    @Test(
        "rule 11: credentials stay behind when scheme, host or port changes, and do not come back",
        arguments: ["https://b.example/", "https://a.example:8443/", "https://a.example.b.example/", "//b.example/"])
    func otherOrigin(_ location: String) {
        var route = route()
        #expect(route.follow(location) == nil)
        #expect(route.follow("https://a.example/file") == nil)
        for name in Self.credentials { #expect(route.headers(own, adding: [:])[name] == nil) }
        #expect(route.headers(own, adding: [:])["X"] == "d")
    }

    @Test("rule 10: a new attempt begins at the origin, with credentials and all hops")
    func reset() {
        var route = route()
        for _ in 0..<20 { #expect(route.follow("https://b.example/") == nil) }
        #expect(route.follow("https://b.example/")?.code == .tooManyRedirects)
        route.reset()
        #expect(route.current == route.origin)
        #expect(route.headers(own, adding: [:])["Authorization"] == "a")
        #expect(route.follow("https://b.example/") == nil)
    }

    @Test(
        "a hop that is refused leads nowhere",
        arguments: [nil, "http://a.example/", "ftp://a.example/", "https://u@a.example/"])
    func refused(_ location: String?) {
        var route = route()
        #expect(route.follow(location)?.code == .redirectRefused)
        #expect(route.follow(location)?.isRetryable == false)
        #expect(route.current == route.origin)
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
