internal import struct Foundation.URL

extension FileName {
    /// Returns a sanitized name from the last nonempty component of a URL's path; `nil` if nothing remains of it.
    ///
    /// Escapes that are malformed or that don't decode to UTF-8 stay unchanged. An escaped slash counts as a slash:
    /// only the text after it is used.
    package static func fromURLPath(_ percentEncodedPath: String) -> String? {
        percentEncodedPath.utf8.split(separator: UInt8(ascii: "/")).last.flatMap {
            sanitized(PercentEncoding.decodingLeniently(Substring($0)))
        }
    }

    /// Returns the sanitized name for a file if the server suggests none: the caller's name, or the name from the URL.
    static func unsuggested(_ callers: String?, from url: URL?) -> String {
        callers.flatMap(sanitized) ?? url.flatMap { fromURLPath($0.path(percentEncoded: true)) } ?? "download"
    }
}
