internal import AsyncDownloads
internal import TestSupport
internal import Testing

@testable import batch

@Suite(.endsWhenHung) struct ManifestTests {
    private static let digest = String(repeating: "ab", count: 32)

    private func manifest(_ text: String) throws -> Manifest {
        try Manifest(Array(text.utf8))
    }

    @Test func `entries have the order of their lines and the options below their URLs`() throws {
        let entries = try manifest(
            """
            # Two files.
            https://example.org/a.bin?v=1
              out=sub/a.bin
            \tchecksum=sha-256=\(Self.digest)
              header=Accept: text/csv
              header = X-Two:2

            http://example.org/b
            """
        ).entries
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
        #expect(try manifest(text).entries.isEmpty)
    }

    @Test(arguments: [
        "http://a/x\r\n  out=n\r\n", "http://a/x  \t\n  out=n", "\u{FEFF}http://a/x\n\tout=n\t\n",
        "http://a/x\n\n#c\n out = n ",
    ])
    func `line terminators, byte order marks, and surrounding spaces are ignored`(text: String) throws {
        let entries = try manifest(text).entries
        #expect(entries.map(\.item.address.text) == ["http://a/x"])
        #expect(entries.first?.item.output?.path == "n")
    }

    @Test(arguments: [
        ("http://a/x\n out=\u{301}n", "\u{301}n"), ("http://a/x\n out= \u{301}n", "\u{301}n"),
        ("http://a/x\n out=m/\u{301}n", "m/\u{301}n"), ("http://a/x\n#\u{301}\n out=n", "n"),
    ])
    func `a combining mark does not change the meaning of the delimiter before it`(text: String, path: String) throws {
        let found = try manifest(text).entries.map(\.item.output?.path)
        #expect(found.map { Array(($0 ?? "").utf8) } == [Array(path.utf8)])
    }

    @Test(arguments: [
        ("  out=a", 1, "needs a URL above it"),
        ("# c\n\n  out=a\nhttp://a/x", 3, "needs a URL above it"),
        ("http://a/x\n  out", 2, "name=value"),
        ("http://a/x\n  split=5", 2, "this option is not supported"),
        ("http://a/x\r\n  dir=/tmp\r\n", 2, "this option is not supported"),
        ("http://a/x\n  http://b/x?y=1", 2, "not supported"),
        ("http://a/x\thttp://b/x", 1, "several URLs"),
        ("ftp://a/x", 1, "only http and https"),
        ("a.bin", 1, "not a valid URL"),
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
        ("http://a/x\n out=n\nhttp://a/y\n out=./n", 4, "another URL, on line 1"),
    ])
    func `an error in a manifest states the line and the reason`(text: String, line: Int, words: String) {
        let error = #expect(throws: ManifestError.self) { try manifest(text) }
        #expect(error?.line == line)
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    }

    @Test func `a line that is not valid UTF-8 is an error`() {
        let error = #expect(throws: ManifestError.self) { try Manifest(Array("http://a/x\n".utf8) + [0x68, 0xFF]) }
        #expect(error?.line == 2)
    }

    @Test func `a URL can occur several times, with equal or different outputs`() throws {
        let entries = try manifest("http://a/x\n out=n\nhttp://a/x\n out=n\nhttp://a/x\n out=m\nhttp://a/x").entries
        #expect(entries.map(\.item.output?.path) == ["n", "n", "m", nil])
    }
}
