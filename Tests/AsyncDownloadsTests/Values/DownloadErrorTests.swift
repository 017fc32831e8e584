internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("DownloadError", .endsWhenHung)
struct DownloadErrorTests {
    @Test func `the description has one line with the code, the detail, the URL, and the kept bytes`() {
        let error = DownloadError(
            .httpStatus, "busy", url: .sample("https://a.example:8443/x/y"), statusCode: 503, retainedByteCount: 7)
        #expect("\(error)" == "httpStatus (503): busy [https://a.example:8443/x/y]; 7 bytes kept")
        #expect("\(DownloadError(.cancelled))" == "cancelled")
    }

    @Test func `no text of an error contains secrets of the URL`() {
        let url = URL.sample("https://user:hunter2@a.example/x?token=s3cret&X-Amz-Signature=f00#fr4gment")
        let error = DownloadError(.timedOut, url: url)
        for text in ["\(error)", String(reflecting: error), "\([error])", error.localizedDescription] {
            for secret in ["user", "hunter2", "token", "s3cret", "f00", "fr4gment"] {
                #expect(!text.contains(secret), "\(secret)")
            }
        }
        #expect("\(error)".contains("https://a.example/x"))
    }

    @Test func `a path with an encoded line break stays on one line`() {
        let error = DownloadError(.timedOut, url: .sample("https://a.example/x%0Ainjected%0D"))
        #expect(!"\(error)".contains("\n"))
    }

    @Test(
        arguments: [
            (.hostNotFound, true), (.cannotConnect, true), (.connectionLost, true), (.timedOut, true),
            (.partialInUse, true), (.tooManyOpenFiles, true), (.deadlineExceeded, false), (.cancelled, false),
            (.invalidRequest, false), (.secureConnectionFailed, false), (.httpStatus, false),
            (.malformedResponse, false), (.contentChanged, false), (.tooManyRedirects, false),
            (.redirectRefused, false), (.diskFull, false), (.checksumMismatch, false), (.bodyTooLarge, false),
            (.storageFailure, false), (.permissionDenied, false), (.unsupported, false), (.shutDown, false),
        ] as [(DownloadError.Code, Bool)])
    func `rule 36: only transient failures are retryable`(_ code: DownloadError.Code, _ isRetryable: Bool) {
        #expect(DownloadError(code).isRetryable == isRetryable)
        #expect(DownloadError(code, isRetryable: !isRetryable).isRetryable == !isRetryable)
    }

    @Test func `codes are distinguished by their names`() {
        #expect(DownloadError.Code.timedOut == .timedOut)
        #expect(DownloadError.Code.timedOut != .connectionLost)
        #expect("\(DownloadError.Code.timedOut)" == "timedOut")
    }
}

@Suite("DownloadProgress", .endsWhenHung)
struct DownloadProgressTests {
    @Test(
        arguments: [(0, 100, 0), (25, 100, 0.25), (100, 100, 1), (101, 100, 1), (0, 0, 1)] as [(Int64, Int64, Double)])
    func `the completed fraction is between 0 and 1`(_ received: Int64, _ expected: Int64, _ fraction: Double) {
        let progress = DownloadProgress(receivedByteCount: received, expectedByteCount: expected)
        #expect(progress.fractionCompleted == fraction)
    }

    @Test func `the completed fraction is nil without a length`() {
        #expect(DownloadProgress(receivedByteCount: 5).fractionCompleted == nil)
    }
}
