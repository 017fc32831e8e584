internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("DownloadError", .endsWhenHung)
struct DownloadErrorTests {
    @Test("the description says in one line what happened, where, and what is kept")
    func description() {
        let error = DownloadError(
            .httpStatus, "busy", url: .sample("https://a.example:8443/x/y"), statusCode: 503, retainedByteCount: 7)
        #expect("\(error)" == "httpStatus (503): busy [https://a.example:8443/x/y]; 7 bytes kept")
        #expect("\(DownloadError(.cancelled))" == "cancelled")
    }

    @Test("no secret of the URL is in any text of the error")
    func redaction() {
        let url = URL.sample("https://user:hunter2@a.example/x?token=s3cret&X-Amz-Signature=f00#fr4gment")
        let error = DownloadError(.timedOut, url: url)
        for text in ["\(error)", String(reflecting: error), "\([error])", error.localizedDescription] {
            for secret in ["user", "hunter2", "token", "s3cret", "f00", "fr4gment"] {
                #expect(!text.contains(secret), "\(secret)")
            }
        }
        #expect("\(error)".contains("https://a.example/x"))
    }

    @Test("a path with an encoded line break is still one line")
    func oneLine() {
        let error = DownloadError(.timedOut, url: .sample("https://a.example/x%0Ainjected%0D"))
        #expect(!"\(error)".contains("\n"))
    }

    @Test(
        "rule 36: what may pass is retryable, everything else is not",
        arguments: [
            (.hostNotFound, true), (.cannotConnect, true), (.connectionLost, true), (.timedOut, true),
            (.partialInUse, true), (.tooManyOpenFiles, true), (.deadlineExceeded, false), (.cancelled, false),
            (.invalidRequest, false), (.secureConnectionFailed, false), (.httpStatus, false),
            (.malformedResponse, false), (.contentChanged, false), (.tooManyRedirects, false),
            (.redirectRefused, false), (.diskFull, false), (.checksumMismatch, false), (.bodyTooLarge, false),
            (.storageFailure, false), (.permissionDenied, false), (.unsupported, false), (.shutDown, false),
        ] as [(DownloadError.Code, Bool)])
    func retryable(_ code: DownloadError.Code, _ isRetryable: Bool) {
        #expect(DownloadError(code).isRetryable == isRetryable)
        #expect(DownloadError(code, isRetryable: !isRetryable).isRetryable == !isRetryable)
    }

    @Test("codes are told apart by their names")
    func codes() {
        #expect(DownloadError.Code.timedOut == .timedOut)
        #expect(DownloadError.Code.timedOut != .connectionLost)
        #expect("\(DownloadError.Code.timedOut)" == "timedOut")
    }
}

@Suite("DownloadProgress", .endsWhenHung)
struct DownloadProgressTests {
    @Test(
        "the part that is there is between nothing and all",
        arguments: [(0, 100, 0), (25, 100, 0.25), (100, 100, 1), (101, 100, 1), (0, 0, 1)] as [(Int64, Int64, Double)])
    func fraction(_ received: Int64, _ expected: Int64, _ fraction: Double) {
        let progress = DownloadProgress(receivedByteCount: received, expectedByteCount: expected)
        #expect(progress.fractionCompleted == fraction)
    }

    @Test("without a length there is no part")
    func unknown() {
        #expect(DownloadProgress(receivedByteCount: 5).fractionCompleted == nil)
    }
}
