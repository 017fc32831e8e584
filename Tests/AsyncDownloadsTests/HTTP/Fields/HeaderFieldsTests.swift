import AsyncDownloads
import TestSupport
import Testing

@Suite("Header fields", .endsWhenHung)
struct HeaderFieldsTests {
    @Test("names are compared without regard to ASCII case, and to ASCII case only")
    func names() {
        let headers: HeaderFields = ["Content-Type": "text/plain", "K": "latin"]
        #expect(headers["content-TYPE"] == "text/plain")
        #expect(headers["k"] == "latin")
        #expect(headers["\u{212A}"] == nil)
        #expect(headers["Content-Typ"] == nil)
    }

    @Test("values of a repeated name are joined by a comma in their order (RFC 9110, 5.3)")
    func repeatedNames() {
        let headers: HeaderFields = ["Accept": "text/csv", "Host": "a", "accept": "text/html"]
        #expect(headers["ACCEPT"] == "text/csv, text/html")
        #expect(headers.values(for: "accept") == ["text/csv", "text/html"])
        #expect(headers.values(for: "absent").isEmpty)
        #expect(headers.count == 3)
    }

    @Test("writing replaces every occurrence where the first one was; nil removes them")
    func writing() {
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

    @Test("an empty list is empty")
    func emptiness() {
        #expect(HeaderFields().isEmpty)
        #expect(HeaderFields() == [:])
        #expect(!HeaderFields([(name: "A", value: "")]).isEmpty)
    }

    @Test("equality ignores the case of names, and neither that of values nor their bytes")
    func equality() {
        let headers: HeaderFields = ["ETag": "\"a\"", "Accept": "b"]
        let sameHeaders: HeaderFields = ["etag": "\"a\"", "ACCEPT": "b"]
        #expect(headers == sameHeaders)
        #expect(Set([headers, sameHeaders]).count == 1)
        #expect(headers != ["ETag": "\"A\"", "Accept": "b"])
        #expect(headers != ["Accept": "b", "ETag": "\"a\""])
        #expect(headers != ["ETag": "\"a\""])
        #expect(HeaderFields(dictionaryLiteral: ("A", "é")) != ["A": "e\u{301}"])
    }

    @Test(
        "boundary 4: only the values of public fields appear in descriptions",
        arguments: ["Authorization", "COOKIE", "set-cookie", "Proxy-Authorization", "x_api-KEY", "ETag"])
    func description(_ name: String) {
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

    @Test("boundary 20: a description is one line, whatever the names and values are", arguments: descriptions)
    func oneLine(_ headers: HeaderFields, _ text: String) {
        #expect("\(headers)" == text)
    }

    @Test(
        "boundary 4: only the names on the list are public",
        arguments: [
            "authorization", "Cookie", "PROXY-AUTHORIZATION", "X-Api-Key", "X-JFrog-Art-Api", "X-AuthToken",
            "Cf-Access-Jwt-Assertion", "AccessToken", "X-WSSE", "X-Amz-Security-Token", "X-Request-Id", "Keyboard",
            "Referer", "Accept-", "Accept-Languages", "",
        ])
    func secrets(_ name: String) {
        let headers: HeaderFields = ["Accept": "a", name: "secret", "accept": "b", name.lowercased(): "secret"]
        #expect(!HeaderFields.isPublic(name))
        #expect(headers.publicFields() == ["Accept": "a", "accept": "b"], "rule 11")
        #expect(headers.secretFields().count == 2)
    }

    @Test(
        "names on the list are public however they are written",
        arguments: [
            "Accept", "ACCEPT-LANGUAGE", "User-Agent", "cache-control", "Pragma", "Want-Repr-Digest",
            "Want-Content-Digest", "DNT", "Sec-GPC",
        ])
    func publicNames(_ name: String) {
        #expect(HeaderFields.isPublic(name))
    }

    @Test("a caller can declare further names to be public, but never credentials")
    func declared() {
        let names: Set = ["x-edition", "authorization", "cookie", "proxy-authorization"]
        #expect(HeaderFields.isPublic("X-Edition", nonsecretNames: names))
        for name in ["Authorization", "Cookie", "Proxy-Authorization"] {
            #expect(!HeaderFields.isPublic(name, nonsecretNames: names))
        }
    }

    @Test("the names that a caller may not set are known", arguments: HeaderFields.reservedNames)
    func reservedNames(_ name: String) {
        #expect(HeaderFields.isReserved(name.uppercased()))
        #expect(!HeaderFields.isReserved("x-\(name)"))
    }

    @Test(
        "well-formed fields are let through",
        arguments: ["", "a", "a\tb", " a ", "naïve 日本", "!#$%&'*+-.^_`|~", "\u{80}"])
    func validValue(_ value: String) {
        #expect(HeaderFields(dictionaryLiteral: ("X-Name", value)).firstInvalidField() == nil)
    }

    @Test(
        "control characters in values are refused",
        arguments: ["a\rb", "a\nb", "a\r\nX: y", "\0", "a\u{1}", "\u{1F}", "\u{7F}", "\u{B}", "a\r\n"])
    func invalidValue(_ value: String) {
        let headers: HeaderFields = ["A": "fine", "B": value, "C": value]
        #expect(headers.firstInvalidField()?.name == "B")
        #expect(headers.firstInvalidField()?.reason == "the value contains a control character")
    }

    @Test(
        "names that are not tokens are refused (RFC 9110, 5.6.2)",
        arguments: ["", " ", "A B", "A:", "A\r\n", "é", "A(", "\"A\"", "A/B", "A\0", "A,B", "[A]", "A\u{301}", "A{"])
    func invalidName(_ name: String) {
        let invalid = HeaderFields(dictionaryLiteral: ("OK", "1"), (name, "2")).firstInvalidField()
        #expect(invalid?.name == name)
        #expect(invalid?.reason == "the name is not a token")
    }
}
