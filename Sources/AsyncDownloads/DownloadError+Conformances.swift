public import Foundation

extension DownloadError: Hashable {
    /// Returns whether two errors have the same properties.
    ///
    /// Underlying errors are compared by their values if they are hashable, and otherwise by their type and their code.
    public static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.detail == right.detail && left.url == right.url
            && left.statusCode == right.statusCode && left.response == right.response
            && left.responseBody == right.responseBody && left.isRetryable == right.isRetryable
            && left.isOffline == right.isOffline && left.retainedByteCount == right.retainedByteCount
            && left.retryAfter == right.retryAfter && areEqual(left.underlyingError, right.underlyingError)
    }

    /// Hashes properties that `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(detail)
        hasher.combine(url)
        hasher.combine(statusCode)
        hasher.combine(retainedByteCount)
    }

    private static func areEqual(_ left: (any Error)?, _ right: (any Error)?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        guard type(of: left) == type(of: right) else { return false }
        if let left = hashable(left), let right = hashable(right) { return left == right }
        return left._code == right._code
    }

    private static func hashable(_ value: Any) -> AnyHashable? { (value as? any Hashable).map { AnyHashable($0) } }
}

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
