internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The keys by which requests of one resource are recognized (rule 51).
@Suite(.endsWhenHung)
struct TransferKeyTests {
    private func key(_ url: String, _ headers: CallerHeaders = [:]) throws -> TransferKey {
        TransferKey(url: try #require(URL(string: url)), headers: headers)
    }

    @Test(arguments: [
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
    func `rule 51: equivalent spellings of a URL have one key`(_ left: String, _ right: String) throws {
        #expect(try key(left) == key(right))
        #expect(try Set([key(left), key(right)]).count == 1)
    }

    @Test(arguments: [
        ("https://a.example/x", "http://a.example/x"), ("https://a.example/x", "https://a.example/X"),
        ("https://a.example/x", "https://a.example/x/"), ("https://a.example/x", "https://a.example/x?"),
        ("https://a.example/?a&b", "https://a.example/?b&a"), ("https://a.example/%2F", "https://a.example//"),
        ("https://a.example/x", "https://a.example:8443/x"), ("https://a.example/%61", "https://a.example/%C3%A1"),
        ("https://a.example/x", "https://a.example:80/x"), ("http://a.example/x", "http://a.example:443/x"),
    ])
    func `rule 51: URLs that may identify different resources have different keys`(
        _ left: String, _ right: String
    ) throws {
        #expect(try key(left) != key(right))
    }

    @Test
    func `rule 51: header names in any case and order, and exact values, are part of the key`() throws {
        let reference = try key("https://a.example/", ["Accept": "x", "Authorization": "y"])
        #expect(try reference == key("https://a.example/", ["authorization": "y", "ACCEPT": "x"]))
        #expect(try reference != key("https://a.example/", ["Accept": "X", "Authorization": "y"]))
        #expect(try reference != key("https://a.example/", ["Accept": "x"]))
        #expect(
            try key("https://a.example/", ["A": "1", "A": "2"]) != key("https://a.example/", ["A": "2", "A": "1"]))
    }

    @Test
    func `the key's URL can be requested`() throws {
        #expect(try key("HTTPS://A.example?q=%20#f").url == "https://a.example/?q=%20")
    }

    @Test
    func `rule 51: headers with different bytes of equivalent characters have different digests`() throws {
        let composed = try key("https://a.example/", ["X-Name": "\u{E9}"])
        let decomposed = try key("https://a.example/", ["X-Name": "e\u{301}"])
        #expect(composed != decomposed)
        #expect(composed.digest != decomposed.digest)
        let boundaries = try [["A": "b", "C": "d"], ["A": "bC", "": "d"], ["A": "", "bC": "d"]].map {
            try key("https://a.example/", CallerHeaders(HeaderFields($0.map { (name: $0.key, value: $0.value) })))
                .digest
        }
        #expect(Set(boundaries).count == 3)
    }

    @Test(arguments: [
        "https://a.example/", "http://127.0.0.1:8080/files/1.bin?a=b&c=%20", "https://a-b.example:65535/~x/../y;z@,+",
        "https://a.example//x//?", "https://a.example/a:b",
    ])
    func `a URL in normal form is recognized without its components`(_ text: String) throws {
        let url = try #require(URL(string: text))
        #expect(url.absoluteStringInNormalForm == text)
        #expect(TransferKey.normalForm(of: url) == text)
        #expect(Origin(url) != nil)
    }

    @Test(arguments: [
        "HTTPS://a.example/", "https://A.example/", "https://a.example", "https://a.example?q",
        "https://a.example:443/",
        "http://a.example:80/", "https://a.example:/", "https://a.example:0/", "https://a.example:08/",
        "https://a.example:65536/", "https://a.example:99999999999999999999/", "https://a.example/#f",
        "https://user@a.example/", "https://user:1@a.example/", "https://[::1]/", "https://a%2eb/", "ftp://a.example/",
        "https:///x", "https://:8080/x", "https:/a/b", "a.example/", "file:///x",
    ])
    func `a URL that is not evidently in normal form is read by its components`(_ text: String) throws {
        let url = try #require(URL(string: text))
        #expect(url.absoluteStringInNormalForm == nil)
    }

    @Test
    func `a URL relative to another one is resolved`() throws {
        let base = try #require(URL(string: "https://a.example/x/"))
        let url = try #require(URL(string: "../y", relativeTo: base))
        #expect(TransferKey(url: url, headers: [:]).url == TransferKey.normalForm(of: url))
    }
}
