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

    @Test
    func `accounts and identities with different bytes of equivalent characters are different`() throws {
        let url = try #require(URL(string: "https://a.example/"))
        let texts = ["\u{E9}", "e\u{301}"]
        for keys in [
            texts.map { TransferKey(url: url, headers: [:], account: $0) },
            texts.map { TransferKey(url: url, headers: [:], identity: $0) },
        ] {
            #expect(keys[0] != keys[1])
            #expect(keys[0].digest != keys[1].digest)
        }
    }

    /// The registry, the bodies in memory, the files of unfinished downloads, and the journal of a background session.
    @Test(arguments: [
        ("equal", DownloadRequest(from: "https://a.example/x"), DownloadRequest(from: "https://a.example/x#y"), true),
        ("URL", DownloadRequest(from: "https://a.example/x"), DownloadRequest(from: "https://a.example/y"), false),
        ("header name", .sample(["Accept": "x"]), .sample(["accept": "x"]), true),
        ("order of headers", .sample(["A": "x", "B": "y"]), .sample(["b": "y", "a": "x"]), true),
        ("header value", .sample(["A": "\u{E9}"]), .sample(["A": "e\u{301}"]), false),
        ("boundary of headers", .sample(["A": "b", "C": "d"]), .sample(["A": "bC", "": "d"]), false),
        ("identity", .sample(identity: "\u{E9}"), .sample(identity: "e\u{301}"), false),
        ("identity and URL", .sample(identity: "https://a.example/x"), .sample(), false),
        ("account", .sample(account: "\u{E9}"), .sample(account: "e\u{301}"), false),
        ("no account", .sample(account: ""), .sample(), false),
        ("account and header", .sample(account: "a"), .sample(["account": "a"]), false),
    ])
    func `rule 51: all tables agree about what one resource is`(
        _ name: String, _ left: DownloadRequest, _ right: DownloadRequest, isSame: Bool
    ) {
        let keys = [left, right].map { TransferKey($0) }
        #expect((keys[0].digest == keys[1].digest) == isSame, "the registry")
        let locations = zip([left, right], keys).map { request, key in
            PartialLocation(
                request, key: key, partialsDirectory: URL(fileURLWithPath: "/partials"),
                spillDirectory: URL(fileURLWithPath: "/spilled"), containers: nil)
        }
        #expect((locations[0].sharingKey == locations[1].sharingKey) == isSame, "bodies in memory")
        #expect((locations[0].request.key == locations[1].request.key) == isSame, "the checkpoint")
        let names = locations.map { location in
            var location = location
            location.baseName = "name"
            return PartialNames(location, user: 1)
        }
        #expect((names[0] == names[1]) == isSame, "names of files")
        let resources = zip([left, right], keys).map { BackgroundResource($0, $1, maximumRetryCount: 1) }
        #expect((resources[0].key == resources[1].key) == isSame, "the journal")
    }

    @Test
    func `a URL relative to another one is resolved`() throws {
        let base = try #require(URL(string: "https://a.example/x/"))
        let url = try #require(URL(string: "../y", relativeTo: base))
        #expect(TransferKey(url: url, headers: [:]).url == TransferKey.normalForm(of: url))
    }
}

extension DownloadRequest {
    fileprivate init(from text: String) {
        self.init(from: URL(string: text) ?? URL(fileURLWithPath: "/"), to: .memory)
    }

    fileprivate static func sample(
        _ headers: HeaderFields = [:], identity: String? = nil, account: String? = nil
    ) -> Self {
        var request = DownloadRequest(from: "https://a.example/x")
        (request.headers, request.nonsecretHeaders) = (headers, headers.declaredNames)
        (request.identity, request.account) = (identity, account)
        return request
    }
}
