internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("Checksum", .endsWhenHung)
struct ChecksumTests {
    private static let short = String(repeating: "0aF9", count: 16)
    private static let long = String(repeating: "bC", count: 64)

    @Test(
        arguments: [
            ("sha-256=\(short)", Checksum.sha256(short)), ("SHA256=\(short)", .sha256(short)),
            ("sha-512=\(long)", .sha512(long)), ("Sha512=\(long)", .sha512(long)),
        ])
    func `rule 48: a digest is read in the form of aria2's manifests`(_ text: String, _ expected: Checksum) throws {
        let checksum = try #require(Checksum(text))
        #expect(checksum == expected)
        #expect(checksum.isWellFormed)
        #expect(checksum.hex == checksum.hex.lowercased())
        #expect(Checksum(checksum.text) == checksum)
    }

    @Test(
        arguments: [
            "", "=", short, "sha-256", "sha-256=", "=\(short)", "sha-256:\(short)", "md5=\(short)", "sha-256=\(long)",
            "sha-512=\(short)", "sha-256=\(short)0", "sha-256=\(short.dropLast())", " sha-256=\(short)",
            "sha-256=\(short.dropLast())g", "sha-256=\(short.dropLast()) ", "sha-256==\(short)", "sha-1=\(short)",
            "sha-256=\(String(repeating: "０", count: 64))", "sha--256=\(short)", "sha-2-56=\(short)",
        ])
    func `any other form is refused`(_ text: String) {
        #expect(Checksum(text) == nil)
    }

    @Test func `a digest is checked on request, not on creation`() {
        #expect(Checksum.sha256("xyz").isWellFormed == false)
        #expect(Checksum.sha512(Self.short).isWellFormed == false)
        #expect(Checksum.sha256(Self.short).isWellFormed)
    }

    @Test func `equality ignores the case of digits but not the algorithm`() {
        #expect(Checksum.sha256("AB") == .sha256("ab"))
        #expect(Checksum.sha256("ab") != .sha512("ab"))
    }
}
