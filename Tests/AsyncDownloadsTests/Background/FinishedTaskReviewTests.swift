internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct FinishedTaskReviewTests {
    private static let name = DaemonTaskName(journal: "j", record: 1, attempt: 1)

    private func verdict(
        _ status: Int, byteCount: Int64 = 10, headers: HeaderFields = [:], resumed: Bool = false,
        checksum: Bool = false, from url: String = "https://example.org/1",
        policy: BackgroundOptions.FinalURLPolicy = .secure
    ) -> String {
        let review = FinishedTaskReview(
            requestedURL: "https://example.org/1", wasResumed: resumed, hasChecksum: checksum, policy: policy,
            date: HTTPDate(secondsSinceEpoch: 0))
        let body = Spool.Body.sample(Self.name, status: status, byteCount: byteCount, headers: headers, url: url)
        return switch review.verdict(on: body) {
        case .whole(let info): "whole \(info.byteCount)"
        case .fragment(let info): "fragment \(info.byteCount)"
        case .restart(let reason): "restart \(reason)"
        case .failed(let error): "failed \(error.code) \(error.statusCode ?? 0)\(error.isRetryable ? " retryable" : "")"
        }
    }

    @Test(arguments: [
        (200, "whole 10"), (203, "whole 10"), (404, "failed httpStatus 404"), (401, "failed httpStatus 401"),
        (500, "failed httpStatus 500 retryable"), (503, "failed httpStatus 503 retryable"),
        (302, "failed httpStatus 302"),
        (204, "failed httpStatus 204"), (416, "failed httpStatus 416"), (206, "restart invalidPartialResponse"),
    ])
    func `background 7: the status of a finished task decides`(status: Int, expected: String) {
        #expect(verdict(status) == expected)
    }

    @Test func `background 7: a file that is shorter or longer than stated is not accepted`() {
        #expect(verdict(200, headers: ["Content-Length": "10"]) == "whole 10")
        #expect(verdict(200, headers: ["Content-Length": "11"]) == "failed connectionLost 0 retryable")
        #expect(verdict(200, headers: ["Content-Length": "9"]) == "failed connectionLost 0 retryable")
        #expect(verdict(200, headers: ["Content-Length": "9", "Content-Encoding": "gzip"]) == "whole 10")
    }

    @Test(arguments: [
        ("bytes 4-9/10", 10, "whole 10"), ("bytes 4-9/10", 6, "restart invalidPartialResponse"),
        ("bytes 4-8/10", 10, "restart invalidPartialResponse"), ("bytes 4-9/*", 10, "restart invalidPartialResponse"),
        ("", 10, "restart invalidPartialResponse"), ("bytes 4-9/10", 16, "restart invalidPartialResponse"),
    ])
    func `background 14: a resumed file must be as long as the representation`(
        range: String, byteCount: Int64, expected: String
    ) {
        let headers: HeaderFields = range.isEmpty ? [:] : ["Content-Range": range]
        #expect(verdict(206, byteCount: byteCount, headers: headers, resumed: true) == expected)
    }

    @Test func `background 14: a partial response is accepted by its length, also if no resumption is known of`() {
        #expect(verdict(206, headers: ["Content-Range": "bytes 4-9/10"]) == "whole 10")
        #expect(
            verdict(206, byteCount: 6, headers: ["Content-Range": "bytes 4-9/10"]) == "restart invalidPartialResponse")
    }

    @Test func `the description of a file is taken from its head`() {
        let review = FinishedTaskReview(
            requestedURL: "https://example.org/1", wasResumed: false, hasChecksum: false, policy: .secure,
            date: HTTPDate(secondsSinceEpoch: 0))
        let digest = "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="
        let headers: HeaderFields = [
            "ETag": "\"a\"", "Content-Type": "video/mp4", "Last-Modified": "Thu, 01 Jan 1970 00:00:00 GMT",
            "Repr-Digest": "sha-256=:\(digest):", "Content-Disposition": "attachment; filename=film.mp4",
        ]
        guard case .whole(let info) = review.verdict(on: .sample(Self.name, headers: headers)) else {
            Issue.record("the file is whole")
            return
        }
        #expect(info.entityTag == "\"a\"" && info.contentType == "video/mp4" && info.suggestedName == "film.mp4")
        #expect(info.lastModified == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(info.serverDigest == "sha-256=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
    }

    @Test func `background 14: a resumed file without a stated length needs a checksum`() {
        #expect(verdict(200, headers: ["Content-Length": "10"], resumed: true) == "whole 10")
        #expect(verdict(200, headers: ["Content-Length": "30"], resumed: true) == "restart invalidPartialResponse")
        #expect(verdict(200, resumed: true) == "restart noValidator")
        #expect(verdict(200, resumed: true, checksum: true) == "whole 10")
        #expect(verdict(206, headers: ["Content-Range": "bytes 4-9/*"], resumed: true, checksum: true) == "whole 10")
    }

    @Test(arguments: [(416, "restart rangeNotSatisfiable"), (412, "restart contentChanged")])
    func `background 7: the refusal of a resumed range starts the download anew`(status: Int, expected: String) {
        #expect(verdict(status, resumed: true) == expected)
    }

    @Test func `background 19: the URL from which the response came is checked`() {
        #expect(verdict(200, from: "http://example.org/1") == "failed redirectRefused 0")
        #expect(verdict(200, from: "http://example.org/1", policy: .any) == "whole 10")
        #expect(verdict(200, from: "https://cdn.example.org/1") == "whole 10")
        #expect(verdict(200, from: "https://cdn.example.org/1", policy: .sameOrigin) == "failed redirectRefused 0")
        #expect(verdict(200, policy: .sameOrigin) == "whole 10")
        #expect(verdict(200, from: "ftp://example.org/1", policy: .any) == "failed malformedResponse 0")
    }

    @Test func `background 7: only the fields that decide are recorded`() {
        let head = DaemonResponseHead(
            status: 200, headers: ["Set-Cookie": "secret", "ETag": "\"1\"", "X-Token": "secret"], url: "https://a/")
        #expect(head.fields == [["ETag", "\"1\""]])
    }
}
