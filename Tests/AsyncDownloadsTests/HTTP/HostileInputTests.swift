import AsyncDownloads
import Foundation
import TestSupport
import Testing

/// Tests of the parsers with arbitrary input; most of them check only that the process doesn't crash.
@Suite("Hostile input", .endsWhenHung)
struct HostileInputTests {
    private static let values: [String] = {
        var generator = SplitMix64(seed: 9110)
        return (0..<1000).map { _ in generator.fieldValue() }
    }()

    @Test func `rule 13: random values crash no parser of positions, and accepted positions are consistent`() {
        for value in Self.values {
            for text in [value, "bytes \(value)", "bytes 0-\(value)", "bytes */\(value)"] {
                switch ContentRange(text) {
                case .satisfied(let range, let completeLength):
                    #expect(range.lowerBound >= 0 && range.upperBound < completeLength ?? .max, "\(text)")
                    let length = range.upperBound - range.lowerBound + 1
                    #expect(ByteRange(first: range.lowerBound, last: range.upperBound)?.length == length)
                case .unsatisfied(let completeLength): #expect(completeLength >= 0)
                case nil: break
                }
            }
            if case .value(let length) = ContentLength(["Content-Length": value]) { #expect(length >= 0) }
            _ = ContentCoding(["Content-Encoding": value])
        }
    }

    @Test func `random values crash no parser of dates, delays, and validators`() throws {
        let now = HTTPDate(secondsSinceEpoch: 1_800_000_000)
        for value in Self.values {
            if let date = HTTPDate(value, now: now) { #expect(HTTPDate(date.headerValue) == date) }
            if let retryAfter = RetryAfter(value, now: now) { #expect(retryAfter.delay(now: now) >= .zero) }
            let limits: HeaderFields = [
                "RateLimit": value, "RateLimit-Policy": value, "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": value,
            ]
            if let limit = RetryAfter(ResponseHead(status: StatusCode(429), headers: limits), now: now) {
                #expect(limit.delay(now: now) >= .zero)
            }
            if let tag = EntityTag(value) { #expect(value.utf8.count >= tag.rawValue.utf8.count) }
            let headers: HeaderFields = ["ETag": value, "Last-Modified": value, "Date": value]
            if let validator = Validator.strong(in: headers, receivedAt: now) {
                #expect(validator.matches(headers) == .same)
                let coded = try JSONEncoder().encode([validator])
                #expect(try JSONDecoder().decode([Validator].self, from: coded) == [validator])
            }
        }
    }

    @Test func `random suggestions become names that stay in their directory`() {
        for value in Self.values {
            let suggestions = [
                value, ContentDisposition(value).suggestedFileName,
                ContentDisposition("attachment; filename=\"\(value)\"").suggestedFileName,
                ContentDisposition("attachment; filename*=UTF-8''\(value)").suggestedFileName,
            ]
            let names = suggestions.compactMap { $0.flatMap(FileName.sanitized) } + [FileName.fromURLPath(value)]
            for name in names.compactMap(\.self) { expectHarmless(name) }
        }
    }

    @Test func `random locations lead only to https URLs without credentials`() throws {
        let current = try #require(URL(string: "https://example.com/a/b"))
        for value in Self.values {
            if case .success(let target) = Redirect.target(location: value, relativeTo: current) {
                #expect(target.scheme?.lowercased() == "https", "\(value)")
                #expect(target.user == nil && target.password == nil && target.fragment == nil, "\(value)")
                #expect(Origin(target) != nil)
            }
        }
    }

    @Test(arguments: ["0", "\"", "\\", "%", ";", ",", " ", ".", "a", "'", "/"])
    func `a long sequence of one character is parsed in linear time`(_ character: String) {
        let text = String(repeating: character, count: 1 << 17)
        #expect(ContentRange("bytes \(text)-\(text)/\(text)") == nil)
        #expect(HTTPDate(text) == nil)
        #expect(EntityTag(text) == nil)
        _ = RetryAfter(text)
        _ = ContentLength(["Content-Length": text])
        _ = ContentDisposition("filename*=\(text)")
        _ = ContentDisposition("filename=\"\(text)\"; filename=\"")
        _ = FileName.fromURLPath(text)
        _ = FileName.sanitized("a\(text)b")
    }

    private func expectHarmless(_ name: String) {
        #expect(1...255 ~= name.utf8.count)
        #expect(!name.utf8.contains { $0 < 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "/") }, "\(name)")
        #expect(!["", ".", ".."].contains(name))
        #expect(FileName.sanitized(name) == name)
    }
}
