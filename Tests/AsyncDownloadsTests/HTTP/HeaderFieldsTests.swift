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
        "the values of credentials and cookies do not appear in descriptions",
        arguments: ["Authorization", "COOKIE", "set-cookie", "Proxy-Authorization", "x_api-KEY"])
    func description(_ name: String) {
        let headers: HeaderFields = [name: "secret", "Range": "bytes=5-"]
        #expect("\(headers)" == "[\(name): <redacted>, Range: bytes=5-]")
        #expect(!String(reflecting: headers).contains("secret"))
        #expect(!"\([headers])".contains("secret"))
    }

    private static let descriptions: [(HeaderFields, String)] = [
        (["X": "a\r\nSet-Cookie: b"], "[X: a\\r\\nSet-Cookie: b]"),
        (["X": "a\tb\0\u{1B}[2J\u{7F}\u{85}"], "[X: a\\tb\\u{0}\\u{1B}[2J\\u{7F}\\u{85}]"),
        (["X": "a\u{2028}b\u{2029}\u{202E}c"], "[X: a\\u{2028}b\\u{2029}\\u{202E}c]"),
        (["X\r\nY": "a"], "[X…: <redacted>]"),
        (["Authorization: Bearer secret": ""], "[Authorization…: <redacted>]"),
        (["ETag": "\"a\\b\"", "Y": "naïve 日本"], "[ETag: \"a\\b\", Y: naïve 日本]"),
    ]

    @Test("a description is one line, whatever the names and values are", arguments: descriptions)
    func oneLine(_ headers: HeaderFields, _ text: String) {
        #expect("\(headers)" == text)
    }

    @Test(
        "credentials are known by name",
        arguments: [
            "authorization", "Cookie", "PROXY-AUTHORIZATION", "X-Api-Key", "apikey", "PRIVATE-TOKEN", "X_Auth_Token",
            "X-Amz-Security-Token", "Client-Secret", "X-Goog-Signature", "X-Session",
        ])
    func credentials(_ name: String) {
        let headers: HeaderFields = ["Accept": "a", name: "secret", "accept": "b", name.lowercased(): "secret"]
        #expect(HeaderFields.isCredential(name))
        #expect(headers.withoutCredentials() == ["Accept": "a", "accept": "b"], "rule 11")
    }

    @Test(
        "other names are no credentials",
        arguments: ["Accept", "Accept-Language", "User-Agent", "X-Request-Id", "Keyboard", "Author", ""])
    func others(_ name: String) {
        #expect(!HeaderFields.isCredential(name))
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
