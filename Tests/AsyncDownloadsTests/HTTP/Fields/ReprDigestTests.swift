import AsyncDownloads
import TestSupport
import Testing

/// Tests of the digests that a server states (RFC 9530), a dictionary of byte sequences (RFC 9651).
@Suite(.endsWhenHung)
struct ReprDigestTests {
    // The digests of "abc".
    private static let sha256 = Checksum.sha256("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    private static let base64 = ":ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:"
    private static let base64Of512 =
        ":3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==:"
    private static let sha512 = Checksum.sha512(
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f")

    static let readable: [(String, [Checksum])] = [
        ("sha-256=\(base64)", [sha256]),
        ("sha-512=\(base64Of512)", [sha512]),
        ("sha-512=\(base64Of512), sha-256=\(base64)", [sha256, sha512]),
        (" sha-256=\(base64)\t,\tsha-512=\(base64Of512) ", [sha256, sha512]),
        ("md5=:kAFQmDzST7DWlj99KOF/cg==:, sha-256=\(base64)", [sha256]),
        ("sha-256=\(base64.replacing("=:", with: ":"))", [sha256]),
        ("sha-256=\(base64);a=1;b=\"x,y\\\"\"", [sha256]),
        ("other=\"a, sha-256=:AAAA:\", sha-256=\(base64)", [sha256]),
        ("flag, number=1.5, list=(1 2), sha-256=\(base64)", [sha256]),
        ("sha-256=:AAAA:, sha-256=\(base64)", [sha256]),
        ("sha-256=\(base64), sha-512=:AAAA:", [sha256]),
    ]

    @Test(arguments: readable)
    func `a usable digest is parsed`(_ text: String, _ checksums: [Checksum]) {
        #expect(ReprDigest(text)?.checksums == checksums)
    }

    @Test(arguments: [
        "", " ", ",", "sha-256", "sha-256=", "sha-256=abc", "sha-256=::", "sha-256=:AAAA:", "SHA-256=\(base64)",
        "sha-256=\(base64.dropLast())", "sha-256=\(base64),", "sha-256=:%%%%:", "sha-512=\(base64)", "md5=\(base64)",
        "sha-256=\(base64), sha-256=:AAAA:", "=\(base64)", "sha-256 = \(base64)", "\"sha-256=\(base64)",
    ])
    func `a field without a usable digest is rejected`(_ text: String) {
        #expect(ReprDigest(text) == nil)
    }

    @Test func `several fields form a single dictionary`() {
        var headers: AsyncDownloads.HeaderFields = [:]
        #expect(ReprDigest(headers) == nil)
        headers.append("sha-512=\(Self.base64Of512)", for: "Repr-Digest")
        headers.append("sha-256=\(Self.base64)", for: "repr-digest")
        #expect(ReprDigest(headers)?.checksums == [Self.sha256, Self.sha512])
    }

    @Test func `only digests of one algorithm can contradict each other`() throws {
        let digest = try #require(ReprDigest("sha-256=\(Self.base64)"))
        #expect(!digest.contradicts([]))
        #expect(!digest.contradicts([Self.sha512]))
        #expect(!digest.contradicts([Self.sha256, Self.sha512]))
        #expect(digest.contradicts([.sha256(String(repeating: "0", count: 64))]))
    }
}
