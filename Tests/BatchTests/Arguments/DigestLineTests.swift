internal import AsyncDownloads
internal import Foundation
internal import TestSupport
internal import Testing

@testable import batch

@Suite(.endsWhenHung) struct DigestLineTests {
    private static let short = String(repeating: "ab", count: 32)
    private static let long = String(repeating: "cd", count: 64)

    @Test(arguments: [
        ("\(short)  a.bin", short, "a.bin"), ("\(short) *a.bin", short, "a.bin"), ("\(short) a b ", short, "a b "),
        ("\(short)   a", short, " a"), ("\(long)  sub/a", long, "sub/a"), ("\\\(short)  a\\\\b", short, "a\\b"),
        ("SHA256 (a) = \(short)", short, "a"), ("SHA256 (a) = (b)) = \(short)", short, "a) = (b)"),
        ("SHA512 (a b) = \(long)", long, "a b"), ("\(short.uppercased())  a", short, "a"),
        ("\\SHA256 (a\\\\b) = \(short)", short, "a\\b"), ("  \(short)  a", short, "a"),
        ("SHA2-256(a)= \(short)", short, "a"), ("SHA512(a b)= \(long)", long, "a b"),
    ])
    func `the digest and the name are read in each form`(text: String, hex: String, name: String) throws {
        let line = try DigestLine(text)
        #expect(line.checksum.hex == hex)
        #expect(line.name == name)
    }

    @Test(arguments: [
        "\(short)", "\(short)  ", "\(short)a", "a.bin", "d41d8cd98f00b204e9800998ecf8427e  a", "MD5 (a) = \(short)",
        "SHA256 (a) \(short)", "SHA256 () = \(short)", "\(short.dropLast())g  a",
    ])
    func `another form, and another digest, is an error`(text: String) {
        #expect(throws: Misuse.self) { try DigestLine(text) }
    }

    @Test func `names are files below the base, and paths in the output directory`() throws {
        let text = "# list\n\(Self.short)  ./sub/ä b?#.bin\r\n"
        let entries = try ManifestParser.entries(of: Array(text.utf8), .digests, base: BaseAddress("http://h/d?x"))
        #expect(entries.map(\.item.address.url.absoluteString) == ["http://h/d/sub/%C3%A4%20b%3F%23.bin"])
        #expect(entries.map(\.item.path) == ["sub/ä b?#.bin"])
        #expect(entries.map(\.item.checksum) == [.sha256(Self.short)])
    }

    @Test(arguments: ["/etc/passwd", "../x", "a/../../x", "\\n"])
    func `a name outside the output directory is an error`(name: String) throws {
        let text = "\(Self.short)  a\n\\\(Self.short)  \(name)\n"
        let error = #expect(throws: ManifestError.self) {
            try ManifestParser.entries(of: Array(text.utf8), .digests, base: BaseAddress("http://h"))
        }
        #expect(error?.line == 2)
    }
}
