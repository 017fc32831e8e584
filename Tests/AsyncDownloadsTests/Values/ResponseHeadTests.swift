import Foundation
import TestSupport
import Testing

@testable import AsyncDownloads

@Suite("ResponseHead", .endsWhenHung)
struct ResponseHeadTests {
    private static let url = URL.sample("https://a.example/x?s3cret")

    @Test(
        arguments: [
            ("text/html", "text/html"), ("Text/HTML; charset=utf-8", "text/html"),
            (" application/zip ", "application/zip"),
            ("image/svg+xml", "image/svg+xml"), ("zip", nil), ("a/b/c", nil), ("", nil), ("/x", nil), (nil, nil),
        ] as [(String?, String?)])
    func `the media type has no parameters`(_ field: String?, _ type: String?) {
        var head = ResponseHead(url: Self.url, statusCode: 200)
        head.headers["Content-Type"] = field
        #expect(head.mediaType == type)
    }

    @Test func `contradictory fields say nothing`() {
        let headers: HeaderFields = [
            "Content-Type": "text/html", "content-type": "application/zip", "Content-Length": "5",
            "content-length": "6",
        ]
        let head = ResponseHead(url: Self.url, statusCode: 200, headers: headers)
        #expect(head.mediaType == nil && head.contentLength == nil)
        #expect(ResponseHead(url: Self.url, statusCode: 200, headers: ["Content-Length": "5"]).contentLength == 5)
    }

    @Test(
        arguments: [
            ("/b?s3cret", "/b"), ("https://b.example/c?s3cret#s3cret", "https://b.example/c"), ("b#s3cret", "b"),
            ("/b?\u{301}s3cret", "/b"), ("https://s3cret@b.example/c", nil),
            ("https://b.example:8443/c", "https://b.example:8443/c"),
        ] as [(String, String?)])
    func `boundary 15: a head that is passed on has neither cookies nor queries`(_ location: String, _ kept: String?) {
        let headers: HeaderFields = [
            "Location": location, "content-location": location, "Set-Cookie": "a=s3cret", "set-cookie": "b=s3cret",
            "X-Error-Message": "restricted",
        ]
        let head = ResponseHead(url: Self.url, statusCode: 302, headers: headers).withoutSecrets
        #expect(head.headers["Location"] == kept && head.headers["Content-Location"] == kept)
        #expect(head.headers["Set-Cookie"] == nil && head.headers["X-Error-Message"] == "restricted")
        #expect("\(head)".hasPrefix("302 from https://a.example/x with ") && !"\(head)".contains("s3cret"))
    }

    @Test func `a head without fields has a complete description`() {
        #expect("\(ResponseHead(url: Self.url, statusCode: 204))" == "204 from https://a.example/x with no fields")
    }
}
