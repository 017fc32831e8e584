import Foundation
import TestSupport
import Testing

@testable import AsyncDownloads

/// Tests of the texts and the numbers of errors, which are the same for all codes.
@Suite(.endsWhenHung)
struct DownloadErrorTextTests {
    private static let codes = DownloadError.Code.numbered.map(\.code)

    /// The names of the codes that the source file declares.
    private static func declaredNames() throws -> [String] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/AsyncDownloads/DownloadError+Code.swift")
        return try String(contentsOf: file, encoding: .utf8).matches(of: /public static let (\w+) = Self/)
            .map { String($0.1) }
    }

    @Test func `each code has a number of its own`() throws {
        #expect(Self.codes.map(\.name) == (try Self.declaredNames()))
        #expect(Set(DownloadError.Code.numbered.map(\.number)).count == Self.codes.count)
        #expect(Set(Self.codes.map(\.name)).count == Self.codes.count)
    }

    @Test func `numbers don't change`() {
        let numbers = Self.codes.map { (DownloadError($0) as NSError).code }
        #expect(numbers == DownloadError.Code.numbered.map(\.number))
        #expect((DownloadError(.cancelled) as NSError).code == 1002)
        #expect((DownloadError(.httpStatus) as NSError).code == 3001)
        #expect((DownloadError(.diskFull) as NSError).domain == "AsyncDownloads.DownloadError")
    }

    @Test func `each code is read from a record again`() {
        for code in Self.codes { #expect(RecordedError(DownloadError(code)).error.code == code) }
        #expect(DownloadError.Code(recordedName: "ofALaterVersion") == nil)
    }

    @Test func `each code has sentences of its own for an alert`() throws {
        var texts: Set<String> = []
        for code in Self.codes {
            let error = DownloadError(code, "jargon", url: .sample("https://user:pass@a.example:8443/x?s3cret#s3cret"))
            let text = try #require(error.errorDescription)
            #expect(texts.insert(text).inserted, "\(code)")
            #expect(text != DownloadError.otherTexts.description, "\(code)")
            for sentence in [text, error.recoverySuggestion].compactMap({ $0 }) {
                #expect(sentence.hasSuffix(".") && sentence.first?.isUppercase == true, "\(sentence)")
                for word in ["jargon", "user", "pass", "8443", "/x", "s3cret", code.name] {
                    #expect(!sentence.contains(" \(word)"), "\(sentence)")
                }
            }
            #expect(error.localizedDescription == text)
        }
    }

    @Test func `the text names the host, and depends on the status`() {
        let url = URL.sample("https://a.example/x")
        let texts = [401, 403, 404, 429, 503, 400].map {
            DownloadError(.httpStatus, url: url, statusCode: $0).errorDescription
        }
        #expect(Set(texts).count == texts.count)
        #expect(texts.allSatisfy { $0?.contains("“a.example”") == true })
    }

    @Test(
        arguments: [
            (DownloadError(.cannotConnect, underlyingError: URLError(.notConnectedToInternet)), true),
            (DownloadError(.networkNotPermitted, underlyingError: URLError(.dataNotAllowed)), true),
            (
                DownloadError(
                    .cannotConnect, underlyingError: NSError(domain: NSPOSIXErrorDomain, code: Int(ENETDOWN))), true
            ),
            (DownloadError(.deadlineExceeded, underlyingError: DownloadError(.cannotConnect, isOffline: true)), true),
            (DownloadError(.cannotConnect, underlyingError: URLError(.cannotConnectToHost)), false),
            (DownloadError(.connectionLost, underlyingError: URLError(.networkConnectionLost)), false),
            (
                DownloadError(
                    .cannotConnect, underlyingError: NSError(domain: NSPOSIXErrorDomain, code: Int(EHOSTUNREACH))),
                false
            ),
            (DownloadError(.hostNotFound), false), (DownloadError(.httpStatus, statusCode: 503), false),
        ])
    func `an error says whether the device is offline`(_ error: DownloadError, _ isOffline: Bool) {
        #expect(error.isOffline == isOffline)
        #expect((error.recoverySuggestion == "Connect to the internet, and try again.") == isOffline)
    }

    @Test func `only an end that the program has caused is a cancellation`() {
        #expect(Self.codes.filter { DownloadError($0).isCancellation } == [.cancelled, .superseded])
    }

    @Test func `errors are equal if their properties and their underlying errors are`() {
        struct Plain: Error { let text: String }
        enum Choice: Error { case first, second(String) }
        let error = DownloadError(.timedOut, "a", statusCode: 5, underlyingError: URLError(.timedOut))
        #expect(error == error && Set([error, error]).count == 1)
        for change: (inout DownloadError) -> Void in [
            { $0.code = .cancelled }, { $0.detail = "b" }, { $0.url = .sample("https://a.example") },
            { $0.statusCode = nil }, { $0.response = ResponseHead(url: .sample("https://a.example"), statusCode: 5) },
            { $0.responseBody = Data() }, { $0.underlyingError = nil }, { $0.isRetryable = false },
            { $0.underlyingError = URLError(.cannotFindHost) }, { $0.isOffline = true }, { $0.retainedByteCount = 1 },
            { $0.retryAfter = .seconds(1) },
        ] {
            var other = error
            change(&other)
            #expect(other != error)
        }
        func with(_ underlying: any Error) -> DownloadError { DownloadError(.timedOut, underlyingError: underlying) }
        #expect(with(Plain(text: "a")) == with(Plain(text: "a")))
        #expect(with(Choice.first) != with(Choice.second("a")))
        #expect(with(Choice.first) != with(Plain(text: "a")))
    }
}
