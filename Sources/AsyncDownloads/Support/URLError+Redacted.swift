#if canImport(Darwin) || LinuxURLSession || !ServerStack
internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

extension URLError {
    /// The same error without values that may contain a URL, because an error often ends up in a log.
    ///
    /// Of the values in `userInfo`, only numbers are kept, and the description if it can't contain a part of a URL.
    fileprivate var redacted: URLError {
        var kept = userInfo.filter { $0.value is Int }
        if let text = userInfo[NSLocalizedDescriptionKey] as? String,
            !text.unicodeScalars.contains(where: "/?#@".unicodeScalars.contains)
        {
            kept[NSLocalizedDescriptionKey] = text
        }
        return URLError(code, userInfo: kept)
    }
}

/// Returns the error without URLs if it is an error of URLSession, and any other error unchanged.
func withoutURLs(_ error: (any Error)?) -> (any Error)? {
    if let error = error as? URLError { return error.redacted }
    #if canImport(FoundationNetworking)
    // On Linux, `NSError` isn't bridged to `URLError`.
    if let error = error as? NSError, error.domain == NSURLErrorDomain {
        return URLError(URLError.Code(rawValue: error.code) ?? .unknown, userInfo: error.userInfo).redacted
    }
    #endif
    return error
}
#else
/// Returns the error unchanged, because this build doesn't use URLSession.
func withoutURLs(_ error: (any Error)?) -> (any Error)? { error }
#endif
