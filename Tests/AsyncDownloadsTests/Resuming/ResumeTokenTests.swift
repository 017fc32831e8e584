internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of the value from which another process continues a download.
@Suite("ResumeToken", .endsWhenHung)
struct ResumeTokenTests {
    private static let digest = String(repeating: "0a", count: 32)

    private static let json = """
        {"checksum":"sha-256=\(digest)","destinationName":"film.mp4","finalURL":"https://cdn.example.com/f?s=s3cret",\
        "format":1,"headers":[["Accept","video/mp4"]],"partialDirectory":"a/b","partialName":".film.partial",\
        "receivedRanges":[[0,512],[1024,2048]],"totalByteCount":4096,"url":"https://example.com/film?token=t0p",\
        "validator":"\\"v1\\""}
        """

    private func token() throws -> ResumeToken {
        try ResumeToken(
            url: .sample("https://example.com/film?token=t0p"), finalURL: .sample("https://cdn.example.com/f?s=s3cret"),
            validator: #""v1""#, totalByteCount: 4096, receivedRanges: [1024..<2048, 0..<512],
            checksum: .sha256(Self.digest), headers: ["Accept": "video/mp4"], destinationName: "film.mp4",
            partialDirectory: "a/b", partialName: ".film.partial")
    }

    private func encoded(_ token: ResumeToken) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(token), as: UTF8.self)
    }

    private func decoded(_ json: String) throws -> ResumeToken {
        try JSONDecoder().decode(ResumeToken.self, from: Data(json.utf8))
    }

    @Test func `the encoded form of format 1 does not change`() throws {
        #expect(try encoded(token()) == Self.json)
        #expect(try decoded(Self.json) == token())
    }

    @Test func `the documentation's example works, and the partial file is below the reader's directory`() throws {
        let original = try token()
        let sharedDirectory = URL(fileURLWithPath: "/srv/shared", isDirectory: true)
        let json = try JSONEncoder().encode(original)
        let token = try JSONDecoder().decode(ResumeToken.self, from: json)
        let partialFile = token.partialFile(relativeTo: sharedDirectory)
        #expect(partialFile.path == "/srv/shared/a/b/.film.partial")
        #expect(token.receivedRanges == [0..<512, 1024..<2048] && token.receivedByteCount == 1536)
    }

    @Test func `a minimal token is encoded without optional values and read by other decoders`() throws {
        let token = try ResumeToken(url: .sample("http://a.example/"), receivedRanges: [], partialName: "x")
        #expect(try encoded(token) == #"{"format":1,"partialName":"x","receivedRanges":[],"url":"http://a.example/"}"#)
        #expect(try decoded(encoded(token)) == token)
        #expect(token.partialFile(relativeTo: URL(fileURLWithPath: "/tmp", isDirectory: true)).path == "/tmp/x")
        let list = try PropertyListEncoder().encode(token)
        #expect(try PropertyListDecoder().decode(ResumeToken.self, from: list) == token)
    }

    @Test func `unknown values in a known format are ignored`() throws {
        let json = Self.json.replacingOccurrences(of: #""format":1"#, with: #""format":1,"colour":"green""#)
        #expect(try decoded(json) == token())
    }

    @Test(arguments: [0, 2, -1, 1_000])
    func `another format is refused, whatever its other values are`(_ format: Int) {
        let error = #expect(throws: DownloadError.self) { try decoded(#"{"format":\#(format)}"#) }
        #expect(error?.code == .resumeDataUnusable)
        #expect(error?.detail == "the token has format \(format), but only format 1 is supported")
    }

    @Test(arguments: ["format", "url", "receivedRanges", "partialName"])
    func `a token without a required value is an error of the decoder`(_ key: String) {
        let json = Self.json.replacingOccurrences(of: "\"\(key)\":", with: "\"x\(key)\":")
        #expect(throws: DecodingError.self) { try decoded(json) }
    }

    @Test(
        arguments: [
            ("https://example.com/film", "ftp://example.com/film", "http"),
            ("https://example.com/film", "https://us3r:pa55@example.com/film", "credentials"),
            ("https://cdn.example.com", "https://us3r@cdn.example.com", "credentials"),
            ("https://cdn.example.com/f", "file:///etc/passwd", "http"),
            ("https://example.com/film?token=t0p", "no URL", "URL"),
            (#"\"v1\""#, #"W/\"v1\""#, "validator"), (#"\"v1\""#, "v1", "validator"), (#"\"v1\""#, "", "validator"),
            ("4096", "2047", "length"), ("4096", "-1", "length"), ("4096", "9223372036854775807", "length"),
            ("sha-256=0a", "sha-256=0", "checksum"), ("sha-256=0a", "md5=0a", "checksum"),
            ("video/mp4", #"video/mp4\r\nX: y"#, "header"), (#"["Accept","#, #"["Accept","x","#, "header"),
            ("film.mp4", "../film.mp4", "destination"), ("film.mp4", "", "destination"),
            (".film.partial", "..", "partial"), (".film.partial", "/etc/passwd", "partial"),
            (".film.partial", "", "partial"),
            ("a/b", "a/../../b", "directory"), ("a/b", "/etc", "directory"), ("a/b", "a/", "directory"),
            ("a/b", "a//b", "directory"), ("a/b", "./a", "directory"),
        ])
    func `impossible values are refused with a reason that does not contain them`(
        _ text: String, _ other: String, _ reason: String
    ) throws {
        let json = Self.json.replacingOccurrences(of: text, with: other)
        #expect(json != Self.json)
        let error = #expect(throws: DownloadError.self) { try decoded(json) }
        #expect(error?.code == .resumeDataUnusable)
        #expect(error?.detail.contains(reason) == true, "\(error?.detail ?? "")")
        for secret in ["t0p", "s3cret", "us3r", "pa55", "passwd"] {
            #expect("\(error as Any)".contains(secret) == false)
        }
    }

    @Test(arguments: ["[[512,0]]", "[[0,512],[256,600]]", "[[-1,5]]", "[[0]]"])
    func `ranges that are not ascending are refused`(_ ranges: String) {
        let json = Self.json.replacingOccurrences(of: "[[0,512],[1024,2048]]", with: ranges)
        #expect(throws: DecodingError.self) { try decoded(json) }
    }

    /// 200,000 ranges that don't touch; every hundredth range is longer than the others.
    private static let manyRanges = (0..<Int64(200_000)).map { index -> Range<Int64> in
        let length: Int64 = index.isMultiple(of: 100) ? 500 + index % 300 : 10
        return index * 1_000..<index * 1_000 + length
    }

    /// The ranges of a token that was made of ``manyRanges``.
    private static let longestRanges: [Range<Int64>] = {
        let byLength = manyRanges.sorted { first, second in
            (second.count, first.lowerBound) < (first.count, second.lowerBound)
        }
        return byLength.prefix(1_024).sorted { $0.lowerBound < $1.lowerBound }
    }()

    @Test func `a token keeps the 1,024 longest of its ranges`() throws {
        let text = Self.manyRanges.map { "[\($0.lowerBound),\($0.upperBound)]" }.joined(separator: ",")
        let json = Self.json.replacingOccurrences(of: "4096", with: "200000000")
            .replacingOccurrences(of: "[0,512],[1024,2048]", with: text)
        let token = try decoded(json)
        #expect(token.receivedRanges == Self.longestRanges)
        #expect(try decoded(encoded(token)) == token)
        let created = try ResumeToken(
            url: .sample("http://a.example/"), receivedRanges: Self.manyRanges.reversed(), partialName: "x")
        #expect(created.receivedRanges == Self.longestRanges)
    }

    @Test func `a range that a token would not keep is checked as well`() throws {
        let ranges = Self.manyRanges + [Int64.max - 1..<Int64.max]
        let error = #expect(throws: DownloadError.self) {
            try ResumeToken(url: .sample("http://a.example/"), receivedRanges: ranges, partialName: "x")
        }
        #expect(error?.code == .resumeDataUnusable)
    }

    @Test func `a created token is checked like a decoded one`() {
        let url = URL.sample("https://example.com/film")
        for (ranges, name, count) in [([-5..<5], "x", nil), ([0..<5], "a/b", nil), ([0..<5], "x", 4)]
            as [(
                [Range<Int64>], String, Int64?
            )]
        {
            let error = #expect(throws: DownloadError.self) {
                try ResumeToken(url: url, totalByteCount: count, receivedRanges: ranges, partialName: name)
            }
            #expect(error?.code == .resumeDataUnusable)
        }
    }

    @Test func `tokens contain no credentials, whether created or decoded`() throws {
        let headers: AsyncDownloads.HeaderFields = [
            "Authorization": "Bearer t0p", "Accept": "video/mp4", "cookie": "a=t0p", "Proxy-Authorization": "t0p",
        ]
        let token = try ResumeToken(
            url: .sample("https://example.com/film"), receivedRanges: [], headers: headers, partialName: "x")
        #expect(token.headers == ["Accept": "video/mp4"])
        #expect(try !encoded(token).contains("t0p"))
        let read = try decoded(Self.json.replacingOccurrences(of: #"["Accept","#, with: #"["Authorization","#))
        #expect(read.headers.isEmpty)
    }

    @Test func `printed descriptions contain no secrets of the URL`() throws {
        for text in ["\(try token())", String(reflecting: try token())] {
            #expect(!text.contains("t0p") && !text.contains("s3cret") && !text.contains("v1"))
            #expect(text == "1536 of 4096 bytes of https://example.com/film in .film.partial")
        }
    }
}
