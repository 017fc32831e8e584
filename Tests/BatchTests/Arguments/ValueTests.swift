internal import AsyncDownloads
internal import Foundation
internal import TestSupport
internal import Testing

@testable import batch

@Suite(.endsWhenHung) struct ValueTests {
    @Test(arguments: [
        ("a", "a"), ("a/b", "a/b"), ("./a", "a"), ("a//b", "a/b"), (".hidden", ".hidden"), ("a/./b", "a/b"),
        ("..a", "..a"), ("größe 漢字", "größe 漢字"),
    ])
    func `a relative path within the directory is accepted and normalized`(text: String, path: String) throws {
        let name = try OutputName(text)
        #expect(name.path == path)
        #expect(name.url(in: URL(fileURLWithPath: "/d", isDirectory: true)).path == "/d/" + path)
    }

    @Test(arguments: ["", "/", "/a", "..", "../a", "a/..", "a/../b", "a/", ".", "a/.", "a\nb", "a\0b", "\u{1B}[2J"])
    func `a path without a file name, or outside the directory, is rejected`(text: String) {
        #expect(throws: Misuse.self) { try OutputName(text) }
    }

    @Test(
        arguments: [
            ("0", 0), ("512", 512), ("1K", 1024), ("64m", 64 << 20), ("2G", 2 << 30), ("9223372036854775807", .max),
        ] as [(String, Int64)])
    func `a number of bytes can have a unit`(text: String, value: Int64) throws {
        #expect(try ByteCount(text).value == value)
    }

    @Test(arguments: [
        "", "K", "-1", "+1", "1.5K", "1KB", "1 K", "0x10", "١", "9223372036854775808", "8589934592G", "10ß",
    ])
    func `a number of bytes that is malformed or too large is rejected`(text: String) {
        #expect(throws: Misuse.self) { try ByteCount(text) }
    }

    @Test(arguments: [
        ("A: b", "A", "b"), ("A:b", "A", "b"), ("A:  b c\t", "A", "b c"),
        ("X-Y_1: http://h:1/", "X-Y_1", "http://h:1/"),
        ("Empty:", "Empty", ""),
    ])
    func `a header consists of a name and a value`(text: String, name: String, value: String) throws {
        let line = try HeaderLine(text)
        #expect(line.name == name)
        #expect(line.value == value)
    }

    @Test(arguments: ["", "a", ": b", "a b: c", "a : b", "a: b\r\nc: d", "ä: b", "a: \0"])
    func `a header that cannot be sent is rejected`(text: String) {
        #expect(throws: Misuse.self) { try HeaderLine(text) }
    }

    @Test(arguments: [
        ("http://a/Zürich%20Map.pdf", "http://a/Z%C3%BCrich%20Map.pdf"),
        ("http://a/d?sig=a%2Fb%3D&name=r[1].bin", "http://a/d?sig=a%2Fb%3D&name=r%5B1%5D.bin"),
        ("HTTP://a:80/x y%20z#f f", "HTTP://a:80/x%20y%20z#f%20f"),
    ])
    func `only what a URL cannot contain is encoded`(text: String, expected: String) throws {
        #expect(try Address(text).url.absoluteString == expected)
        let base = try BaseAddress("http://b/r%20é/")
        #expect(try Address("ü%20", base: base).url.absoluteString == "http://b/r%20%C3%A9/%C3%BC%20")
    }

    @Test func `an item without an output lets the library choose the name`() throws {
        var item = Item(address: try Address("http://example.org/dir/a%20b?x=1"))
        let directory = URL(fileURLWithPath: "/d", isDirectory: true)
        item.directory = directory
        #expect(item.name == "a b")
        #expect(item.request.destination == .directory(directory))
        item.output = try OutputName("sub/c")
        #expect(item.name == "sub/c")
        #expect(item.request.destination == .file(URL(fileURLWithPath: "/d/sub/c")))
    }

    @Test func `a name that begins with a hyphen cannot be taken for an option`() throws {
        #expect(Item(address: try Address("http://example.org/-rf")).name == "./-rf")
        #expect(Item(address: try Address("http://example.org/")).name == "download")
    }
}
