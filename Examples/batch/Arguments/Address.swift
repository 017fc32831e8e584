internal import AsyncDownloads
internal import Foundation

/// A URL that the user wrote, as text and as a parsed URL.
struct Address: Sendable, Hashable {
    /// The text as written, or the URL that a relative text leads to; for comparisons only, because it may contain secrets.
    let text: String
    let url: URL

    init(_ text: String) throws(Misuse) {
        try self.init(text, base: nil)
    }

    /// Creates an address from a URL that may be relative to `base` (RFC 3986, 5.2).
    init(_ text: String, base: BaseAddress?) throws(Misuse) {
        guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || 0x7F...0x9F ~= $0.value }),
            let url = URL(encoding: text, relativeTo: base?.url)?.absoluteURL
        else { throw Misuse("not a valid URL") }
        guard let scheme = url.scheme?.lowercased() else {
            throw Misuse("not a valid URL; a relative URL in a manifest requires --base")
        }
        guard scheme == "http" || scheme == "https" else { throw Misuse("only http and https are supported") }
        guard let host = url.host(), !host.isEmpty else { throw Misuse("the URL has no host") }
        guard url.port.map({ 1...65535 ~= $0 }) ?? true else { throw Misuse("a port is a number from 1 to 65535") }
        self.text = base == nil ? text : url.absoluteString
        self.url = url
    }

    /// The URL as text, without a user name and a password.
    var withoutCredentials: String {
        guard url.user != nil || url.password != nil,
            var components = URLComponents(url: url, resolvingAgainstBaseURL: false)
        else { return url.absoluteString }
        (components.user, components.password) = (nil, nil)
        return components.string ?? ""
    }
}

/// The value of `--base`: the URL of the directory that contains the files of a manifest.
struct BaseAddress: Sendable, Hashable {
    /// The URL, whose path ends with a slash.
    let url: URL

    init(_ text: String) throws(Misuse) {
        let address = try Address(text)
        guard var components = URLComponents(url: address.url, resolvingAgainstBaseURL: false) else {
            throw Misuse("not a valid URL")
        }
        (components.query, components.fragment) = (nil, nil)
        if !components.percentEncodedPath.hasSuffix("/") { components.percentEncodedPath += "/" }
        guard let url = components.url else { throw Misuse("not a valid URL") }
        self.url = url
    }

    /// Returns the address of the file with this path below the URL.
    func address(of path: String) throws(Misuse) -> Address {
        let encoded = path.utf8.split(separator: UInt8(ascii: "/")).map { component in
            component.map { byte in
                Self.isUnreserved(byte) ? String(UnicodeScalar(byte)) : "%" + String(format: "%02X", byte)
            }.joined()
        }
        return try Address(url.absoluteString + encoded.joined(separator: "/"))
    }

    /// Whether the byte stands for itself in a URL (RFC 3986, 2.3).
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "-._~".utf8.contains(byte)
        }
    }
}
