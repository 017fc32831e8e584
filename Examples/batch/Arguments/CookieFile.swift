internal import Foundation

/// The cookies of a file in Netscape's format, which browsers' extensions and curl write (`--load-cookies`).
///
/// A line has seven fields with tabs between them: the domain, whether it includes the hosts below it, the path, whether the
/// cookie is for https only, the time of its expiry in seconds since 1970 (0 for the end of the session), the name, and the
/// value. `#HttpOnly_` before the domain has no meaning here, and other lines that start with `#` are comments. A line that is
/// no cookie is skipped, as curl does, because files of browsers contain such lines; a file without any cookie is an error.
struct CookieFile: Sendable, Hashable {
    fileprivate struct Cookie: Sendable, Hashable {
        let domain: String
        let includesSubdomains: Bool
        let path: String
        let isSecure: Bool
        let expiry: Int64
        let name: String
        let value: String
    }

    private let cookies: [Cookie]

    /// Reads the file that the value of `--load-cookies` names.
    init(argument path: String) throws(Misuse) {
        let file = try TextFile(path)
        cookies = try file.map { (line) throws(Misuse) in Cookie(line) }
        guard !cookies.isEmpty || !file.hasLines(where: Cookie.isLine) else {
            throw file.misuse("no line is a cookie in Netscape's format: seven fields with tabs between them")
        }
    }

    /// Returns the value of the Cookie header for a URL (RFC 6265, 5.4); nil without a cookie for it.
    func header(for url: URL, at now: Date = Date()) -> String? {
        guard let host = url.host()?.lowercased() else { return nil }
        let path = url.path(percentEncoded: true)
        let seconds = Int64(now.timeIntervalSince1970)
        let matching = cookies.enumerated().filter { _, cookie in
            cookie.isFor(host: host, path: path.isEmpty ? "/" : path)
                && (!cookie.isSecure || url.scheme?.lowercased() == "https")
                && (cookie.expiry == 0 || cookie.expiry > seconds)
        }
        // Longer paths come first; cookies with equal lengths keep the order of the file.
        let sorted = matching.sorted {
            ($1.element.path.utf8.count, $0.offset) < ($0.element.path.utf8.count, $1.offset)
        }
        guard !sorted.isEmpty else { return nil }
        return sorted.map { "\($0.element.name)=\($0.element.value)" }.joined(separator: "; ")
    }
}

extension CookieFile.Cookie {
    private static let httpOnlyPrefix = "#HttpOnly_"

    /// Whether a line is neither empty nor a comment.
    fileprivate static func isLine(_ line: String) -> Bool {
        !line.isEmpty && (!line.hasPrefix("#") || line.hasPrefix(httpOnlyPrefix))
    }

    /// Returns the number of seconds, rounded up and limited to the range of the type; nil for text that isn't a number.
    ///
    /// Some browsers' extensions write fractions, and curl the largest number for a time that it can't represent.
    private static func seconds(_ text: String) -> Int64? {
        if let seconds = Int64(text) { return seconds }
        guard let number = Double(text)?.rounded(.up), !number.isNaN else { return nil }
        return Int64(exactly: number) ?? (number < 0 ? .min : .max)
    }

    /// Parses a line; nil if it is no cookie that can be sent.
    fileprivate init?(_ line: String) {
        guard Self.isLine(line) else { return nil }
        let prefix = Self.httpOnlyPrefix
        let text = line.hasPrefix(prefix) ? String(line.dropFirst(prefix.count)) : line
        var fields = text.utf8.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        // An empty value at the end of a line may have lost its tab.
        if fields.count == 6 { fields.append("") }
        guard fields.count == 7, let expiry = Self.seconds(fields[4]) else { return nil }
        let isPlain = (fields[5] + fields[6]).utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ";") }
        guard isPlain, !fields[5].isEmpty else { return nil }
        domain = String(fields[0].lowercased().drop { $0 == "." })
        includesSubdomains = fields[1].uppercased() == "TRUE"
        path = fields[2].hasPrefix("/") ? fields[2] : "/"
        isSecure = fields[3].uppercased() == "TRUE"
        (self.expiry, name, value) = (expiry, fields[5], fields[6])
    }

    /// Whether the cookie is sent to the host for the path (RFC 6265, 5.1.3 and 5.1.4).
    fileprivate func isFor(host: String, path: String) -> Bool {
        guard host == domain || includesSubdomains && !domain.isEmpty && host.hasSuffix("." + domain) else {
            return false
        }
        guard path.hasPrefix(self.path) else { return false }
        return self.path.hasSuffix("/") || path.utf8.count == self.path.utf8.count
            || path.utf8.dropFirst(self.path.utf8.count).first == UInt8(ascii: "/")
    }
}
