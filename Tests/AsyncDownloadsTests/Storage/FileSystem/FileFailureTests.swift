internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// Tests of the system's failures as callers receive them (rule 44).
@Suite("FileFailure", .endsWhenHung)
struct FileFailureTests {
    @Test(
        arguments: [
            (ENOSPC, DownloadError.Code.diskFull), (EDQUOT, .diskFull), (EFBIG, .diskFull),
            (EACCES, .permissionDenied), (EPERM, .permissionDenied), (EROFS, .permissionDenied),
            (ENOENT, .destinationUnusable), (ENOTDIR, .destinationUnusable), (EISDIR, .destinationUnusable),
            (ELOOP, .destinationUnusable), (ENAMETOOLONG, .destinationUnusable),
            (EMFILE, .tooManyOpenFiles), (ENFILE, .tooManyOpenFiles),
            (EIO, .storageFailure), (EXDEV, .storageFailure), (ENOTSUP, .storageFailure),
        ])
    func `rule 44: a failure becomes an error with the matching code`(number: Int32, code: DownloadError.Code) throws {
        let error = DownloadError(POSIXFileSystem.failure(number, "write", "file.zip"))
        #expect(error.code == code)
        #expect(error.detail.hasPrefix("cannot write file.zip: "))
        #expect((error.underlyingError as? FileFailure)?.errno == number)
        #expect(error.isRetryable == (code == .tooManyOpenFiles))
    }

    @Test func `a failure contains only the last component of a path`() throws {
        let failure = #expect(throws: FileFailure.self) {
            try POSIXFileSystem().open("/secret/place/file.zip", .existing)
        }
        #expect(failure?.kind == .missing)
        #expect(failure?.description == "cannot open file.zip: No such file or directory")
    }

    @Test(arguments: ["/dev/null/directory", "/" + String(repeating: "x", count: 300), "/proc/no-such"])
    func `an unusable directory is reported`(path: String) {
        let error = #expect(throws: DownloadError.self) { try PartialStore().open(.sample(in: path)) }
        #expect(error?.code == .destinationUnusable || error?.code == .permissionDenied)
    }
}
