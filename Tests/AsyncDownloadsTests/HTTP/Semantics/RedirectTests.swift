import AsyncDownloads
import Foundation
import TestSupport
import Testing

@Suite("Redirect", .endsWhenHung)
struct RedirectTests {
    private static let targets: [(String, String)] = [
        ("https://other.example/x?y=1", "https://other.example/x?y=1"),
        ("HTTPS://Other.example/x", "HTTPS://Other.example/x"),
        ("/x", "https://example.com:8443/x"),
        ("x", "https://example.com:8443/a/x"),
        ("../x", "https://example.com:8443/x"),
        ("../../../x", "https://example.com:8443/x"),
        ("?q=2", "https://example.com:8443/a/b?q=2"),
        ("//cdn.example/x", "https://cdn.example/x"),
        ("https://other.example", "https://other.example"),
        ("  /x\t", "https://example.com:8443/x"),
        ("/x#fragment", "https://example.com:8443/x"),
        ("/x?y#a?b", "https://example.com:8443/x?y"),
        ("#only", "https://example.com:8443/a/b?q=1"),
        ("/a%2Fb?c=%20d%26", "https://example.com:8443/a%2Fb?c=%20d%26"),
        ("/a b/é", "https://example.com:8443/a%20b/%C3%A9"),
        // Existing escapes stay, even beside characters that have to be encoded.
        ("/a b%20c/ü%20x", "https://example.com:8443/a%20b%20c/%C3%BC%20x"),
        ("/f?fn=a|b&sig=a%2Fb%3D&n=r[1]", "https://example.com:8443/f?fn=a%7Cb&sig=a%2Fb%3D&n=r%5B1%5D"),
        ("https://bücher.example/ü%2f?[", "https://xn--bcher-kva.example/%C3%BC%2f?%5B"),
        ("//[::1]:8080/[x]", "https://[::1]:8080/%5Bx%5D"),
        ("/100%/%zz%e", "https://example.com:8443/100%25/%25zz%25e"),
        ("a//b c", "https://example.com:8443/a/a//b%20c"),
        // A colon that ends no scheme.
        ("[01:23] x", "https://example.com:8443/a/%5B01:23%5D%20x"),
        ("1:2/x", "https://example.com:8443/a/1:2/x"),
        ("https://[::1]:8080/x", "https://[::1]:8080/x"),
        ("/x@y", "https://example.com:8443/x@y"),
        ("/\\other.example/x", "https://example.com:8443/%5Cother.example/x"),
        ("https://other.example:/x", "https://other.example/x"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
    ]

    @Test(arguments: targets)
    func `a location is resolved against the redirecting URL, without its fragment`(
        _ location: String, _ expected: String
    ) throws {
        let current = try #require(URL(string: "https://example.com:8443/a/b?q=1#here"))
        #expect(try Redirect.target(location: location, relativeTo: current).get().absoluteString == expected)
    }

    private static let refusals: [(String?, Redirect.Refusal)] = [
        (nil, .missingOrMalformed),
        ("", .missingOrMalformed),
        (" \t", .missingOrMalformed),
        ("https://", .missingOrMalformed),
        ("https:///x", .missingOrMalformed),
        ("https:x", .missingOrMalformed),
        ("https:/x", .missingOrMalformed),
        ("https://other.example:0/", .missingOrMalformed),
        ("https://other.example:65536/", .missingOrMalformed),
        ("https://other.example:99999999999999999999/", .missingOrMalformed),
        ("https://other.example:x/", .missingOrMalformed),
        ("https://a%0d%0aX:%20y/", .missingOrMalformed),
        ("https://a%2fb/", .missingOrMalformed),
        ("https://a b/", .missingOrMalformed),
        ("https:\\\\other.example\\x", .missingOrMalformed),
        ("///other.example/x", .missingOrMalformed),
        ("https://other.example/\r\nX: y", .missingOrMalformed),
        ("/x\0", .missingOrMalformed),
        ("/\u{7F}", .missingOrMalformed),
        ("file:///etc/passwd", .schemeNotAllowed("file")),
        ("FILE:///etc/passwd", .schemeNotAllowed("file")),
        ("ftp://other.example/x", .schemeNotAllowed("ftp")),
        ("data:text/plain,x", .schemeNotAllowed("data")),
        ("javascript:alert(1)", .schemeNotAllowed("javascript")),
        ("mailto:a@b.example", .schemeNotAllowed("mailto")),
        ("http://example.com/x", .insecureDowngrade),
        ("HTTP://example.com/x", .insecureDowngrade),
        ("https://user@other.example/", .credentialsInURL),
        ("https://user:secret@other.example/", .credentialsInURL),
        ("https://:secret@other.example/", .credentialsInURL),
        ("https://@other.example/", .credentialsInURL),
        ("//user@other.example/", .credentialsInURL),
        ("https://good.example\\@other.example/", .credentialsInURL),
        ("http://user@other.example/", .credentialsInURL),
    ]

    @Test(arguments: refusals)
    func `a redirect that must not be followed is refused with a reason`(
        _ location: String?, _ refusal: Redirect.Refusal
    ) throws {
        let current = try #require(URL(string: "https://example.com/a/b"))
        #expect(throws: refusal) { try Redirect.target(location: location, relativeTo: current).get() }
    }

    @Test func `an http URL may redirect to http and to https`() throws {
        let current = try #require(URL(string: "HTTP://example.com/a"))
        for location in ["http://other.example/x", "https://example.com/x"] {
            #expect(try Redirect.target(location: location, relativeTo: current).get().absoluteString == location)
        }
    }
}

@Suite("Origin", .endsWhenHung)
struct OriginTests {
    @Test(arguments: [
        ("https://example.com/a", "https://example.com:443/b?c#d", true),
        ("HTTPS://EXAMPLE.com", "https://example.COM/", true),
        ("http://example.com", "http://example.com:80", true),
        ("http://example.com", "https://example.com", false),
        ("http://example.com:443", "https://example.com:443", false),
        ("https://example.com", "https://example.com:8443", false),
        ("https://example.com", "https://www.example.com", false),
        ("https://example.com", "https://example.com.evil.example", false),
        ("https://example.com", "https://example.com.", false),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8081", false),
        ("http://[::1]:8080/a", "http://[::1]:8080/b", true),
        ("https://example.com:/", "https://example.com:0443/", true),
        ("https://bücher.example", "https://xn--bcher-kva.example", true),
    ])
    func `rule 11: credentials are sent to the same scheme, host, and port only`(
        _ left: String, _ right: String, _ isSame: Bool
    ) throws {
        let origins = try [left, right].map { try #require(URL(string: $0).flatMap(Origin.init)) }
        #expect((origins[0] == origins[1]) == isSame)
    }

    @Test(arguments: [
        "file:///x", "data:,x", "ftp://a/b", "/relative", "https:///x", "http://a:0/", "http://a:70000/",
        "http://%61/", "http://b%C3%BCcher.example/", "http://a%00/", "http://a:99999999999999999999/",
        "http://[::1%25eth0]/",
    ])
    func `a URL without a usable http or https origin is rejected`(_ text: String) {
        #expect(URL(string: text).flatMap(Origin.init) == nil)
    }

    @Test func `an origin has the port and the host in lower case`() throws {
        let origin = try #require(URL(string: "HTTP://Example.COM/a").flatMap(Origin.init))
        let address = try #require(URL(string: "https://[::A]/").flatMap(Origin.init))
        #expect(origin.scheme == "http")
        #expect(origin.host == "example.com")
        #expect(origin.port == 80)
        #expect(address.host == "[::a]")
        #expect(address.port == 443)
    }
}
