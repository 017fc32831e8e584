public import Foundation

extension DownloadError: CustomNSError {
    /// The domain of the errors as values of `NSError`: `AsyncDownloads.DownloadError`, in all versions.
    public static var errorDomain: String { "AsyncDownloads.DownloadError" }

    /// The number of the ``code-swift.property``, which is the same in all versions.
    public var errorCode: Int { code.number }

    /// The texts of ``errorDescription`` and ``recoverySuggestion``, and no other values; neither text contains a
    /// secret.
    ///
    /// On Linux, `localizedDescription` reads the text only from this dictionary.
    public var errorUserInfo: [String: Any] {
        var texts: [String: Any] = [:]
        texts[NSLocalizedDescriptionKey] = errorDescription
        texts[NSLocalizedRecoverySuggestionErrorKey] = recoverySuggestion
        return texts
    }
}
