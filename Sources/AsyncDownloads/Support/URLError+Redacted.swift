internal import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

extension URLError {
    /// The same error without what may hold a URL: its query is not fit for a log, and an error often ends up in one.
    ///
    /// Of the dictionary that comes with the error, numbers stay, and a text in which no part of a URL can be.
    fileprivate var redacted: URLError {
        var kept = userInfo.filter { $0.value is Int }
        if let text = userInfo[NSLocalizedDescriptionKey] as? String, !text.contains(where: "/?#@".contains) {
            kept[NSLocalizedDescriptionKey] = text
        }
        return URLError(code, userInfo: kept)
    }
}

/// The error as it may be passed on: an error of URLSession's without its URLs, any other as it is.
func withoutURLs(_ error: (any Error)?) -> (any Error)? {
    if let error = error as? URLError { return error.redacted }
    #if canImport(FoundationNetworking)
    // There is no bridge from one to the other there.
    if let error = error as? NSError, error.domain == NSURLErrorDomain {
        return URLError(URLError.Code(rawValue: error.code) ?? .unknown, userInfo: error.userInfo).redacted
    }
    #endif
    return error
}
