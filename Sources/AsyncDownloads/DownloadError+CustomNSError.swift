public import Foundation

extension DownloadError: CustomNSError {
    /// The domain of the errors as values of `NSError`: `AsyncDownloads.DownloadError`, in all versions.
    public static var errorDomain: String { "AsyncDownloads.DownloadError" }

    /// The number of the ``code-swift.property``, which is the same in all versions.
    public var errorCode: Int { code.number }

    /// No values, because those of the error may contain secrets.
    ///
    /// The texts of ``errorDescription`` and ``recoverySuggestion`` are available as for any error.
    public var errorUserInfo: [String: Any] { [:] }
}
