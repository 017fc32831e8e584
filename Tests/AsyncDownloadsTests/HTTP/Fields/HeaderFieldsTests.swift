import AsyncDownloads
import TestSupport
import Testing

@Suite("Header fields", .endsWhenHung)
struct HeaderFieldsTests {
    @Test func `names are compared without regard to the case of ASCII letters only`() {
        let headers: HeaderFields = ["Content-Type": "text/plain", "K": "latin"]
        #expect(headers["content-TYPE"] == "text/plain")
        #expect(headers["k"] == "latin")
        #expect(headers["\u{212A}"] == nil)
        #expect(headers["Content-Typ"] == nil)
    }

    /// RFC 9110, 5.3.
    @Test func `values of a repeated name are joined by commas in their order`() {
        let headers: HeaderFields = ["Accept": "text/csv", "Host": "a", "accept": "text/html"]
        #expect(headers["ACCEPT"] == "text/csv, text/html")
        #expect(headers.values(for: "accept") == ["text/csv", "text/html"])
        #expect(headers.values(for: "absent").isEmpty)
        #expect(headers.count == 3)
    }

    @Test func `writing replaces all occurrences at the position of the first one, and nil removes them`() {
        var headers: HeaderFields = ["A": "1", "B": "2", "a": "3"]
        headers["a"] = "4"
        #expect(headers == ["a": "4", "B": "2"])
        headers["C"] = "5"
        #expect(headers.map(\.name) == ["a", "B", "C"])
        headers["A"] = nil
        headers["absent"] = nil
        #expect(headers == ["B": "2", "C": "5"])
        headers.append("6", for: "b")
        #expect(headers["B"] == "2, 6")
        #expect(headers.count == 3)
    }

    @Test func `an empty list is empty`() {
        #expect(HeaderFields().isEmpty)
        #expect(HeaderFields() == [:])
        #expect(!HeaderFields([(name: "A", value: "")]).isEmpty)
    }

    @Test func `equality ignores the case of names, but not the case or the bytes of values`() {
        let headers: HeaderFields = ["ETag": "\"a\"", "Accept": "b"]
        let sameHeaders: HeaderFields = ["etag": "\"a\"", "ACCEPT": "b"]
        #expect(headers == sameHeaders)
        #expect(Set([headers, sameHeaders]).count == 1)
        #expect(headers != ["ETag": "\"A\"", "Accept": "b"])
        #expect(headers != ["Accept": "b", "ETag": "\"a\""])
        #expect(headers != ["ETag": "\"a\""])
        #expect(HeaderFields(dictionaryLiteral: ("A", "é")) != ["A": "e\u{301}"])
    }

    @Test(arguments: ["Authorization", "COOKIE", "set-cookie", "Proxy-Authorization", "x_api-KEY", "ETag"])
    func `boundary 4: only the values of public fields appear in descriptions`(_ name: String) {
        let headers: HeaderFields = [name: "secret", "Accept": "text/csv"]
        #expect("\(headers)" == "[\(name): <redacted>, Accept: text/csv]")
        #expect(!String(reflecting: headers).contains("secret"))
        #expect(!"\([headers])".contains("secret"))
    }

    private static let descriptions: [(HeaderFields, String)] = [
        (["Accept": "a\r\nSet-Cookie: b"], "[Accept: a\\r\\nSet-Cookie: b]"),
        (["Accept": "a\tb\0\u{1B}[2J\u{7F}\u{85}"], "[Accept: a\\tb\\u{0}\\u{1B}[2J\\u{7F}\\u{85}]"),
        (["Accept": "a\u{2028}b\u{2029}\u{202E}c"], "[Accept: a\\u{2028}b\\u{2029}\\u{202E}c]"),
        (["X\r\nY": "a"], "[X…: <redacted>]"),
        (["Authorization: Bearer secret": ""], "[Authorization…: <redacted>]"),
        (["Accept": "\"a\\b\"", "User-Agent": "naïve 日本"], "[Accept: \"a\\b\", User-Agent: naïve 日本]"),
    ]

    @Test(arguments: descriptions)
    func `boundary 20: a description is a single line, whatever the names and values are`(
        _ headers: HeaderFields, _ text: String
    ) {
        #expect("\(headers)" == text)
    }

    @Test(arguments: [
        "authorization", "Cookie", "PROXY-AUTHORIZATION", "X-Api-Key", "X-JFrog-Art-Api", "X-AuthToken",
        "Cf-Access-Jwt-Assertion", "AccessToken", "X-WSSE", "X-Amz-Security-Token", "X-Request-Id", "Keyboard",
        "Referer", "Accept-", "Accept-Languages", "",
    ])
    func `boundary 4: only the names on the list are public`(_ name: String) {
        let headers: HeaderFields = ["Accept": "a", name: "secret", "accept": "b", name.lowercased(): "secret"]
        #expect(!HeaderFields.isPublic(name))
        #expect(headers.publicFields() == ["Accept": "a", "accept": "b"], "rule 11")
        #expect(headers.secretFields().count == 2)
    }

    @Test(arguments: [
        "Accept", "ACCEPT-LANGUAGE", "User-Agent", "cache-control", "Pragma", "Want-Repr-Digest",
        "Want-Content-Digest", "DNT", "Sec-GPC",
    ])
    func `a name on the list is public in any case`(_ name: String) {
        #expect(HeaderFields.isPublic(name))
    }

    @Test func `a caller can declare further names to be public, but never credentials`() {
        let names: Set = ["x-edition", "authorization", "cookie", "proxy-authorization"]
        #expect(HeaderFields.isPublic("X-Edition", nonsecretNames: names))
        for name in ["Authorization", "Cookie", "Proxy-Authorization"] {
            #expect(!HeaderFields.isPublic(name, nonsecretNames: names))
        }
    }

    @Test(arguments: HeaderFields.reservedNames)
    func `a name that a caller may not set is recognized`(_ name: String) {
        #expect(HeaderFields.isReserved(name.uppercased()))
        #expect(!HeaderFields.isReserved("x-\(name)"))
    }

    @Test(arguments: ["", "a", "a\tb", " a ", "naïve 日本", "!#$%&'*+-.^_`|~", "\u{80}"])
    func `a well-formed field is accepted`(_ value: String) {
        #expect(HeaderFields(dictionaryLiteral: ("X-Name", value)).firstInvalidField() == nil)
    }

    @Test(arguments: ["a\rb", "a\nb", "a\r\nX: y", "\0", "a\u{1}", "\u{1F}", "\u{7F}", "\u{B}", "a\r\n"])
    func `a control character in a value is rejected`(_ value: String) {
        let headers: HeaderFields = ["A": "fine", "B": value, "C": value]
        #expect(headers.firstInvalidField()?.name == "B")
        #expect(headers.firstInvalidField()?.reason == "the value contains a control character")
    }

    /// RFC 9110, 5.6.2.
    @Test(arguments: ["", " ", "A B", "A:", "A\r\n", "é", "A(", "\"A\"", "A/B", "A\0", "A,B", "[A]", "A\u{301}", "A{"])
    func `a name that is not a token is rejected`(_ name: String) {
        let invalid = HeaderFields(dictionaryLiteral: ("OK", "1"), (name, "2")).firstInvalidField()
        #expect(invalid?.name == name)
        #expect(invalid?.reason == "the name is not a token")
    }
}
