internal import AsyncDownloads
internal import Foundation
internal import TestSupport
internal import Testing

@testable import batch

@Suite(.endsWhenHung) struct ManifestTests {
    private static let digest = String(repeating: "ab", count: 32)

    private func entries(_ text: String) throws -> [ManifestParser.Entry] {
        try ManifestParser.entries(of: Array(text.utf8))
    }

    @Test func `entries have the order of their lines and the options below their URLs`() throws {
        let entries = try self.entries(
            """
            # Two files.
            https://example.org/a.bin?v=1
              out=sub/a.bin
            \tchecksum=sha-256=\(Self.digest)
              header=Accept: text/csv
              header = X-Two:2

            http://example.org/b
            """
        )
        #expect(entries.map(\.line) == [2, 8])
        let first = try #require(entries.first?.item)
        #expect(first.address.text == "https://example.org/a.bin?v=1")
        #expect(first.output?.path == "sub/a.bin")
        #expect(first.checksum == .sha256(Self.digest))
        #expect(first.headers.map { [$0.name, $0.value] } == [["Accept", "text/csv"], ["X-Two", "2"]])
        #expect(entries.last?.item == Item(address: try Address("http://example.org/b")))
    }

    @Test(arguments: [
        "", "\n", "\r\n\r\n", "# only a comment", "  \n\t\n", "   # an indented comment\n", "\u{FEFF}# marked",
    ])
    func `blank lines and comments have no entries`(text: String) throws {
        #expect(try entries(text).isEmpty)
    }

    @Test(arguments: [
        "http://a/x\r\n  out=n\r\n", "http://a/x  \t\n  out=n", "\u{FEFF}http://a/x\n\tout=n\t\n",
        "http://a/x\n\n#c\n out = n ",
    ])
    func `line terminators, byte order marks, and surrounding spaces are ignored`(text: String) throws {
        let entries = try self.entries(text)
        #expect(entries.map(\.item.address.text) == ["http://a/x"])
        #expect(entries.first?.item.output?.path == "n")
    }

    @Test(arguments: [
        ("http://a/x\n out=\u{301}n", "\u{301}n"), ("http://a/x\n out= \u{301}n", "\u{301}n"),
        ("http://a/x\n out=m/\u{301}n", "m/\u{301}n"), ("http://a/x\n#\u{301}\n out=n", "n"),
    ])
    func `a combining mark does not change the meaning of the delimiter before it`(text: String, path: String) throws {
        let found = try entries(text).map(\.item.output?.path)
        #expect(found.map { Array(($0 ?? "").utf8) } == [Array(path.utf8)])
    }

    @Test(arguments: [
        ("  out=a", 1, "needs a URL above it"),
        ("# c\n\n  out=a\nhttp://a/x", 3, "needs a URL above it"),
        ("http://a/x\n  out", 2, "name=value"),
        ("http://a/x\n  split=5", 2, "this option is not supported"),
        ("http://a/x\r\n  dir=/tmp\r\n", 2, "absolute"),
        ("http://a/x\n dir=a/../..", 2, "cannot contain .."),
        ("http://a/x\n dir=a\n dir=b", 3, "twice"),
        ("http://a/x\n name=a/b", 2, "no directories"), ("http://a/x\n name=a/\u{301}b", 2, "no directories"),
        ("http://a/x\n mirror=ftp://b/x", 2, "only http and https"),
        ("http://a/x\n  http://b/x?y=1", 2, "not supported"),
        ("http://a/x\tftp://b/x", 1, "only http and https"),
        ("{", 1, "not a valid JSON object"),
        ("http://a/x\n{\"out\":\"n\"}", 2, "the member url is missing"),
        ("{\"url\":\"http://a/x\",\"size\":\"5\"}", 1, "the member size has the wrong type"),
        ("{\"url\":\"http://a/x\",\"size\":-5}", 1, "negative"),
        ("{\"url\":\"http://a/x\",\"sha25\":\"\"}", 1, "the members are url, out, sha256"),
        ("{\"url\":\"http://a/x\",\"out\":\"../x\"}", 1, "cannot contain .."),
        ("{\"url\":\"http://a/x\"}\n out=n\n out=m", 2, "twice"),
        ("ftp://a/x", 1, "only http and https"),
        ("a.bin", 1, "requires --base"),
        ("http:///x", 1, "no host"),
        ("http://a/x\n out=", 2, "empty"),
        ("http://a/x\n out=/etc/passwd", 2, "absolute"),
        ("http://a/x\n out=a/../../b", 2, "cannot contain .."),
        ("http://a/x\n out=../\u{301}x", 2, "cannot contain .."),
        ("http://a/x\n out=/\u{301}x", 2, "absolute"),
        ("http://a/x\n out=a/", 2, "no file name"),
        ("http://a/x\n out=a\n out=b", 3, "twice"),
        ("http://a/x\n checksum=sha-1=00", 2, "sha-256"),
        ("http://a/x\n checksum=sha-256=00", 2, "all of its"),
        ("http://a/x\n header=nothing", 2, "Name: value"),
        ("http://a/x\n header=a b: c", 2, "letters"),
    ])
    func `an error in a manifest states the line and the reason`(text: String, line: Int, words: String) {
        let error = #expect(throws: ManifestError.self) { try entries(text) }
        #expect(error?.line == line)
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    }

    @Test func `a line that is not valid UTF-8 is an error`() {
        let error = #expect(throws: ManifestError.self) {
            try ManifestParser.entries(of: Array("http://a/x\n".utf8) + [0x68, 0xFF])
        }
        #expect(error?.line == 2)
    }

    @Test func `a URL can occur several times, with equal or different outputs`() throws {
        let entries = try self.entries("http://a/x\n out=n\nhttp://a/x\n out=n\nhttp://a/x\n out=m\nhttp://a/x")
        #expect(entries.map(\.item.output?.path) == ["n", "n", "m", nil])
    }

    @Test func `tabs and mirror options name the mirrors, in their order`() throws {
        let entries = try self.entries("http://a/x\t http://b/x\thttp://c/x\t\n mirror=http://d/x\nhttp://a/y\n")
        #expect(entries.map { $0.item.mirrors.map(\.text) } == [["http://b/x", "http://c/x", "http://d/x"], []])
    }

    @Test(arguments: ["out=m/n\n dir=sub", "dir=./sub/\n out=m/n"])
    func `a directory precedes the path of the same entry`(options: String) throws {
        #expect(try entries("http://a/x\n \(options)").map(\.item.path) == ["sub/m/n"])
        #expect(try entries("http://a/x\n dir=sub\nhttp://a/y").map(\.item.path) == ["sub/x", "y"])
    }

    @Test func `the manifest of an item keeps spaces at the ends of its path`() throws {
        let text = """
            {"url":"https://a/x","out":" sub/two words "}
              checksum=sha-256=\(Self.digest)
              public-header=Accept: text/csv
            https://a/y
              out=two words

            """
        let items = try entries(text).map(\.item)
        #expect(items.map { $0.output?.path } == [" sub/two words ", "two words"])
        let written = items.map { $0.manifestLines() }.joined()
        #expect(written == text)
        #expect(try entries(written).map(\.item) == items)
    }

    @Test func `objects and URLs can alternate`() throws {
        let object = """
            {"url":"http://a/x","out":"n/m","sha256":"\(Self.digest.uppercased())","headers":{"B":"2","A":"1"},\
            "mirrors":["http://b/x"],"size":5}
            """
        let entries = try self.entries(
            "http://a/1\n\(object)\n{\"url\":\"http://a/2\",\"out\":null}\nhttp://a/3\n out=q")
        #expect(entries.map(\.line) == [1, 2, 3, 4])
        let item = entries[1].item
        #expect(item.output?.path == "n/m")
        #expect(item.checksum == .sha256(Self.digest))
        #expect(item.headers.map { [$0.name, $0.value] } == [["A", "1"], ["B", "2"]])
        #expect(item.mirrors.map(\.text) == ["http://b/x"])
        #expect(item.byteCount == 5)
        #expect(entries[2].item == Item(address: try Address("http://a/2")))
    }

    @Test(arguments: [
        ("sub/x y", "http://h/d/sub/x%20y"), ("/r", "http://h/r"), ("?q=1", "http://h/d/?q=1"), ("../x", "http://h/x"),
        ("http://o/x", "http://o/x"), ("//o/x", "http://o/x"),
    ])
    func `relative lines are resolved below the base`(line: String, url: String) throws {
        for base in ["http://h/d", "http://h/d/?x#y"] {
            let entries = try ManifestParser.entries(of: Array(line.utf8), base: BaseAddress(base))
            #expect(entries.map(\.item.address.url.absoluteString) == [url])
        }
    }
}
