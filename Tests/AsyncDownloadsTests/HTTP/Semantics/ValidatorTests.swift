import AsyncDownloads
import Foundation
import TestSupport
import Testing

@Suite("Validator (RFC 9110, 8.8)", .endsWhenHung)
struct ValidatorTests {
    private static let modified = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let muchLater = "Tue, 15 Nov 1994 12:45:26 GMT"
    private static let now = HTTPDate(secondsSinceEpoch: 1_791_201_600)

    private static let choices: [(HeaderFields, String?)] = [
        (["ETag": "\"a\""], "\"a\""),
        (["etag": " \"a\" "], "\"a\""),
        (["ETag": "\"a\"", "Last-Modified": modified, "Date": muchLater], "\"a\""),
        (["ETag": "\"\""], "\"\""),
        (["Last-Modified": modified, "Date": muchLater], modified),
        (["Last-Modified": modified, "Date": "Sun, 06 Nov 1994 08:50:37 GMT"], modified),
        (["Last-Modified": "Sunday, 06-Nov-94 08:49:37 GMT", "Date": muchLater], "Sunday, 06-Nov-94 08:49:37 GMT"),
        (["Last-Modified": "Sun Nov  6 08:49:37 1994", "Date": muchLater], "Sun Nov  6 08:49:37 1994"),
        ([:], nil),
        (["Date": muchLater], nil),
        (["Last-Modified": "yesterday", "Date": muchLater], nil),
        (["Last-Modified": "", "Date": muchLater], nil),
    ]

    @Test(arguments: choices)
    func `rule 4: the strong validator is selected and kept as received`(_ headers: HeaderFields, _ rawValue: String?) {
        #expect(Validator.strong(in: headers, receivedAt: Self.now)?.rawValue == rawValue)
    }

    @Test(arguments: ["W/\"a\"", "abc123", "w/\"a\"", "", "\"a\", \"b\"", "\"a"])
    func `rule 2: a weak or malformed tag is not a strong validator`(_ tag: String) {
        #expect(Validator.strong(in: ["ETag": tag]) == nil)
    }

    @Test(arguments: ["W/\"a\"", "abc123", "", "\"a\", \"b\""])
    func `rule 3: the date is not used if an ETag is present, even a malformed one`(_ tag: String) {
        let headers: HeaderFields = ["ETag": tag, "Last-Modified": Self.modified, "Date": Self.muchLater]
        #expect(Validator.strong(in: headers, receivedAt: Self.now) == nil)
    }

    @Test(arguments: [
        nil, "", "now", "Sun, 06 Nov 1994 08:50:36 GMT", "Sun, 06 Nov 1994 08:49:38 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:48:37 GMT", "Sat, 01 Jan 0000 00:00:00 GMT",
    ])
    func `rule 3: a date is strong only if Date is at least a minute later`(_ date: String?) {
        var headers: HeaderFields = ["Last-Modified": Self.modified]
        headers["Date"] = date
        #expect(Validator.strong(in: headers, receivedAt: Self.now) == nil)
    }

    @Test func `a date in the RFC 850 form is ignored if the time of receipt is unknown`() {
        let headers: HeaderFields = ["Last-Modified": "Sunday, 06-Nov-94 08:49:37 GMT", "Date": Self.muchLater]
        #expect(Validator.strong(in: headers) == nil)
    }

    private static let tagMatches: [(HeaderFields, Validator.Match)] = [
        (["ETag": "\"a\""], .same),
        (["ETag": "\"a\"", "Last-Modified": modified], .same),
        (["ETag": "\"b\""], .different),
        (["ETag": "W/\"a\""], .different),
        (["ETag": "a"], .different),
        (["ETag": ""], .different),
        (["ETag": "\"a\"", "etag": "\"b\""], .different),
        (["Last-Modified": modified], .absent),
        ([:], .absent),
    ]

    @Test(arguments: tagMatches)
    func `rule 21: a tag in the response must strongly equal the recorded one`(
        _ headers: HeaderFields, _ match: Validator.Match
    ) throws {
        let validator = try #require(Validator.strong(in: ["ETag": "\"a\""]))
        #expect(validator.matches(headers) == match)
    }

    private static let dateMatches: [(HeaderFields, Validator.Match)] = [
        (["Last-Modified": modified], .same),
        (["Last-Modified": " \(modified) "], .same),
        (["Last-Modified": modified, "ETag": "\"new\""], .same),
        (["Last-Modified": "Sunday, 06-Nov-94 08:49:37 GMT"], .same),
        (["Last-Modified": "Sun Nov  6 08:49:37 1994"], .same),
        (["Last-Modified": "Sun, 06 Nov 1994 08:49:38 GMT"], .different),
        (["Last-Modified": "Sun, 06 Nov 1994 08:49:36 GMT"], .different),
        (["Last-Modified": "never"], .different),
        (["Last-Modified": ""], .different),
        (["ETag": "\"a\""], .absent),
        ([:], .absent),
    ]

    @Test(arguments: dateMatches)
    func `rule 21: a date in the response must be the same text or the same instant`(
        _ headers: HeaderFields, _ match: Validator.Match
    ) {
        #expect(Validator.lastModified(Self.modified).matches(headers, receivedAt: Self.now) == match)
    }

    @Test func `two malformed dates match only if their texts are equal`() {
        #expect(Validator.lastModified("once").matches(["Last-Modified": "never"]) == .different)
        #expect(Validator.lastModified("once").matches(["Last-Modified": "once"]) == .same)
    }

    @Test func `a weak tag matches nothing, not even itself`() throws {
        let tag = try #require(EntityTag("W/\"a\""))
        #expect(Validator.entityTag(tag).matches(["ETag": "W/\"a\""]) == .different)
    }

    @Test(arguments: [
        "\"a\"", "\"\\/é\"", "\"\"", modified, "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ])
    func `rule 40: a checkpoint keeps the raw text`(_ rawValue: String) throws {
        let text = try #require(String(data: JSONEncoder().encode([rawValue]), encoding: .utf8))
        let validators = try JSONDecoder().decode([Validator].self, from: Data(text.utf8))
        #expect(validators.map(\.rawValue) == [rawValue])
        #expect(try JSONDecoder().decode([String].self, from: JSONEncoder().encode(validators)) == [rawValue])
    }

    @Test(arguments: [
        #"[""]"#, #"["abc"]"#, #"["W/\"a\""]"#, #"["\"a"]"#, #"["\"a\r\nX: y\""]"#, "[5]", "[null]",
    ])
    func `rule 39: a checkpoint with an invalid validator is rejected`(_ json: String) {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([Validator].self, from: Data(json.utf8))
        }
    }
}
