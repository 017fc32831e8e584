internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// The checks that replace Foundation's parsing for most URLs; they must agree with it.
@Suite(.endsWhenHung)
struct URLNormalFormTests {
    @Test(arguments: [
        "https://a.example/", "http://127.0.0.1:8080/files/1.bin?a=b&c=%20", "https://a-b.example:65535/~x/../y;z@,+",
        "https://a.example//x//?", "https://a.example/a:b",
    ])
    func `a URL in normal form is recognized without its components`(_ text: String) throws {
        let url = try #require(URL(string: text))
        #expect(url.absoluteStringInNormalForm == text)
        #expect(TransferKey.normalForm(of: url) == text)
        let origin = try #require(url.originInNormalForm)
        let components = try #require(URLComponents(url: url, resolvingAgainstBaseURL: true))
        #expect(origin.scheme == components.scheme)
        #expect(origin.host == components.host)
        #expect(origin.port == components.port ?? Origin.defaultPorts[origin.scheme])
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
        #expect(url.originInNormalForm == nil)
    }

    @Test(arguments: [
        "/a", "/tmp/x/y.bin", "/a/.b", "/..a/b..", "/A-b_c~d/@e+f,g=h", "/a:b", "/a&b",
    ])
    func `a plain file path is that of the URL`(_ path: String) {
        let url = URL(fileURLWithPath: path, isDirectory: false)
        #expect(url.plainFilePath == url.path)
        #expect(url.filePath == path)
        #expect(DownloadRequest(from: source, to: url).validationError == nil)
    }

    @Test(arguments: [
        "file:///a%20b", "file:///a/", "file:///", "file:///a/.", "file:///a/..", "file://host/a", "file:/a",
        "file:///a?b", "file:///a#b", "file:///a;b", "FILE:///a", "http://a.example/b", "/a", "a",
        "file:////a", "file:///a//b", "file:///a/./b", "file:///a/../b", "file:///a/.../b",
    ])
    func `another URL has no plain file path`(_ text: String) throws {
        #expect(try #require(URL(string: text)).plainFilePath == nil)
    }

    @Test(arguments: [
        ("/a//b", "/a/b"), ("//a/b", "/a/b"), ("/a/./b", "/a/b"), ("/./a", "/a"), ("/a/../b", "/a/../b"),
        ("/a/.../b", "/a/.../b"), ("/a b//c", "/a b/c"), ("/", "/"), ("/.", "/"), ("/a/\u{301}b", "/a/\u{301}b"),
    ])
    func `a file has one path`(_ path: String, _ expected: String) {
        #expect(URL(fileURLWithPath: path).filePath.hasSameBytes(as: expected))
    }

    @Test
    func `the plain path of random file URLs is their path`() throws {
        var random = SplitMix64(seed: 1)
        let parts = ["a", "B", ".", "..", "/", "//", "%41", "%2F", " ", "é", "~", ":", ";", "?", "#", "@", "+", "&"]
        var plainCount = 0
        for _ in 0..<5_000 {
            let text = (0..<Int.random(in: 1...5, using: &random)).map { _ in parts.randomElement(using: &random) ?? ""
            }
            let path = "/" + text.joined()
            for url in [URL(fileURLWithPath: path, isDirectory: false), URL(string: "file://" + path)].compactMap(
                \.self)
            {
                let directory = url.appendingPathComponent("", isDirectory: true)
                #expect(directory.filePath.hasSameBytes(as: shortestPath(of: directory)))
                guard let plain = url.plainFilePath else { continue }
                plainCount += 1
                #expect(plain == url.path && plain == url.filePath)
                #expect(!url.hasDirectoryPath && !["", ".", ".."].contains(url.lastPathComponent))
            }
        }
        #expect(plainCount > 500)
    }

    @Test
    func `a file URL relative to another one is resolved`() throws {
        let base = URL(fileURLWithPath: "/a/b/", isDirectory: true)
        for text in ["c", "../c", "./c/d"] {
            let url = try #require(URL(string: text, relativeTo: base))
            #expect(url.plainFilePath ?? url.path == url.path)
        }
    }

    @Test(arguments: ["/a/..", "/a/.", "/"])
    func `a destination whose last component is a dot segment is refused`(_ path: String) throws {
        let url = try #require(URL(string: "file://" + path))
        #expect(DownloadRequest(from: source, to: url).validationError?.code == .invalidRequest)
    }

    /// The path of a URL without empty components and `.`.
    private func shortestPath(of url: URL) -> String {
        "/"
            + url.path.utf8.split(separator: UInt8(ascii: "/")).map { String(decoding: $0, as: UTF8.self) }
            .filter { $0 != "." }.joined(separator: "/")
    }

    private var source: URL { URL(string: "https://a.example/") ?? URL(filePath: "/") }
}
