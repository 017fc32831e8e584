import AsyncDownloads
import TestSupport
import Testing

@Suite("Entity tag (RFC 9110, 8.8.3)", .endsWhenHung)
struct EntityTagTests {
    @Test(arguments: [
        ("\"xyzzy\"", false), ("W/\"xyzzy\"", true), ("\"\"", false), ("W/\"\"", true), ("\"W/\"", false),
        ("\"5f3e-1a2b:gzip\"", false), ("\"a,b;c\"", false), ("\"\\\"", false), ("\"!#~\"", false),
        ("\"é日本\"", false),
        ("\"e\u{301}\"", false), ("\"'%20'\"", false),
    ])
    func `rule 4: a well-formed tag is kept byte for byte`(_ text: String, _ isWeak: Bool) throws {
        let tag = try #require(EntityTag(text))
        #expect(Array(tag.rawValue.utf8) == Array(text.utf8))
        #expect(tag.isWeak == isWeak)
        #expect(EntityTag(" \(text)\t") == tag)
    }

    @Test(arguments: [
        "", " ", "abc123", "\"", "W/", "W/\"", "W\"a\"", "w/\"a\"", "W/ \"a\"", "W/abc", "\"a", "a\"", "\"a b\"",
        "\"a\tb\"", "\"a\"b\"", "\"a\\\"b\"", "\"a\", \"b\"", "\"a\",\"a\"", "'a'", "\"a\" x", "\"a\r\n\"",
        "\"a\0\"",
        "\"\u{7F}\"", "*", "\"a\"-gzip", "\"\"a\"\"", "“a”", "\"a\u{FFFD}\"", "W/W/\"a\"", "5f3e-1a2b",
    ])
    func `a malformed tag is rejected`(_ text: String) {
        #expect(EntityTag(text) == nil)
    }

    /// RFC 9110, 8.8.3.2.
    @Test(arguments: [
        ("W/\"1\"", "W/\"1\"", false), ("W/\"1\"", "W/\"2\"", false), ("W/\"1\"", "\"1\"", false),
        ("\"1\"", "W/\"1\"", false), ("\"1\"", "\"1\"", true), ("\"1\"", "\"2\"", false), ("\"a\"", "\"A\"", false),
        ("\"é\"", "\"e\u{301}\"", false), ("\"1\"", "\"1 \"", false), ("\"\"", "\"\"", true),
    ])
    func `the strong comparison follows the standard`(_ left: String, _ right: String, _ isMatch: Bool) {
        let tags = (EntityTag(left), EntityTag(right))
        #expect((tags.1.map { tags.0?.stronglyMatches($0) == true } ?? false) == isMatch)
    }

    @Test func `equal tags have the same bytes, including the mark of a weak tag`() {
        #expect(EntityTag("W/\"1\"") == EntityTag("W/\"1\""))
        #expect(EntityTag("W/\"1\"") != EntityTag("\"1\""))
        #expect(EntityTag("\"é\"") != EntityTag("\"e\u{301}\""))
        #expect(Set(["\"1\"", " \"1\"", "W/\"1\""].map(EntityTag.init)).count == 2)
    }
}
