internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of the texts that a log, a debugger, or `dump` shows for public values.
@Suite("Secrets in texts of public values", .endsWhenHung)
struct ReflectionTests {
    private static let url = URL.sample("https://user:s3cret@host.example:8443/dir/file?token=s3cret#s3cret")
    private static let signed = URL.sample("https://host.example:8443/dir/file?token=s3cret")
    private static let headers: HeaderFields = ["Authorization": "Bearer s3cret", "Accept": "text/csv"]
    private static let place = URL.sample("file:///tmp/file")

    private static let request: DownloadRequest = {
        var request = DownloadRequest(from: url, to: place, headers: headers)
        request.refreshURL = URLRefresh { _ in FreshURL(url) }
        return request
    }()

    private static let head = ResponseHead(
        url: url, statusCode: 403,
        headers: ["Set-Cookie": "s3cret", "Location": "/?s3cret", "X-Error-Message": "s3cret"])

    private static let error = DownloadError(
        .connectionLost, url: url, response: head, responseBody: Data("s3cret".utf8),
        underlyingError: URLError(.networkConnectionLost, userInfo: failingURLs))

    private static let failingURLs: [String: any Sendable] = [
        NSURLErrorFailingURLErrorKey: url, "NSErrorFailingURLStringKey": url.absoluteString,
        NSLocalizedDescriptionKey: "\(url) is gone",
        NSUnderlyingErrorKey: NSError(domain: "s3cret", code: 1, userInfo: ["a": url]),
    ]

    private static let file = DownloadedFile(
        url: place, byteCount: 5, fetchedByteCount: 5, finalURL: url, data: Data("s3cret".utf8),
        responses: [head])

    private static func expectNoSecret(_ value: some Any) {
        for text in everyText(of: value) {
            #expect(!text.contains("s3cret") && !text.contains("user:"), "\(text)")
        }
    }

    @Test func `boundary 15: no text of a value contains a secret`() throws {
        Self.expectNoSecret(Self.headers)
        Self.expectNoSecret(Self.request)
        Self.expectNoSecret(Self.error)
        Self.expectNoSecret(Self.file)
        Self.expectNoSecret(Self.head)
        Self.expectNoSecret(Self.error as NSError)
        Self.expectNoSecret(try JSONEncoder().encode(RecordedError(Self.error)))
        Self.expectNoSecret(try #require(Self.error.errorDescription))
        Self.expectNoSecret(FreshURL(Self.url, headers: Self.headers))
        Self.expectNoSecret(URLRefresh.Context(url: Self.url, reason: .expired, receivedByteCount: 5))
        Self.expectNoSecret(DownloadRequest.Destination.file(Self.place))
        Self.expectNoSecret(
            try ResumeToken(
                url: Self.signed, finalURL: Self.signed, validator: "\"s3cret\"", receivedRanges: [0..<5],
                headers: ["Accept": "text/csv"], partialName: "file.partial"))
        Self.expectNoSecret(BatchOutcome(index: 0, request: Self.request, result: .failure(Self.error)))
        Self.expectNoSecret(BatchOutcome(index: 0, request: Self.request, result: .success(Self.file)))
    }

    @Test func `boundary 15: no text of an event contains a secret`() {
        for event: DownloadEvent in [
            .retrying(attempt: 1, delay: .seconds(1), error: Self.error), .finished(Self.file),
        ] {
            Self.expectNoSecret(event)
        }
    }

    @Test func `boundary 15: no text of a download, a downloader, or a configuration contains a secret`() async throws {
        var configuration = Downloader.Configuration()
        configuration.memoryPressure = .none
        let downloader = Downloader(
            configuration: configuration, transport: ScriptedTransport([Self.signed.absoluteString: .empty]),
            store: PartialStore(durability: .processCrash), time: ManualTimeSource())
        var request = DownloadRequest(from: Self.signed, to: .memory, headers: Self.headers)
        request.refreshURL = URLRefresh { _ in FreshURL(Self.signed) }
        let download = downloader.start(request)
        Self.expectNoSecret(download)
        Self.expectNoSecret(downloader)
        Self.expectNoSecret(configuration)
        Self.expectNoSecret(downloader.batch([request]))
        Self.expectNoSecret(downloader.start(Self.request))
        _ = try await download.file
        Self.expectNoSecret(download)
        await downloader.shutdown()
    }

    @Test func `boundary 15: an error of a session keeps its code, but no URL`() throws {
        let underlying = try #require(Self.error.underlyingError)
        #expect((underlying as? URLError)?.code == .networkConnectionLost)
        Self.expectNoSecret(underlying)
        #expect(!underlying.localizedDescription.contains("s3cret"))
        #expect(!Self.error.localizedDescription.contains("s3cret"))
        var replaced = Self.error
        replaced.underlyingError = URLError(.timedOut, userInfo: Self.failingURLs)
        for text in everyText(of: replaced) { #expect(!text.contains("s3cret"), "\(text)") }
    }

    @Test func `boundary 15: an error that is not from a session is unchanged`() throws {
        struct Own: Error, Equatable { let number: Int }
        let error = DownloadError(.urlRefreshFailed, underlyingError: Own(number: 5))
        #expect(error.underlyingError as? Own == Own(number: 5))
    }
}
