extension FileName {
    /// A name from the last component of a URL's path that is not empty; `nil` when nothing is left of it.
    ///
    /// Escapes that are malformed or not UTF-8 stay as they are. An escaped slash is a slash: only what follows it counts.
    package static func fromURLPath(_ percentEncodedPath: String) -> String? {
        percentEncodedPath.utf8.split(separator: UInt8(ascii: "/")).last.flatMap {
            sanitised(PercentEncoding.decodingLeniently(Substring($0)))
        }
    }
}
