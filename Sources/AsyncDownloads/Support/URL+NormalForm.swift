internal import Foundation

extension URL {
    /// The absolute URL if it is evidently an http or https URL in normal form, otherwise nil.
    ///
    /// Such a URL has a scheme and a host in lowercase, a path, no user information, no fragment, and no default or
    /// invalid port (RFC 9110, 4.2.3). Most URLs are of this kind, and parsing one into components takes several times
    /// as long as this check.
    var absoluteStringInNormalForm: String? {
        var text = absoluteString
        return text.withUTF8(\.isURLInNormalForm) ? text : nil
    }

    /// The scheme, host, and port if the URL is evidently an http or https URL in normal form, otherwise nil.
    var originInNormalForm: (scheme: String, host: String, port: Int)? {
        var text = absoluteString
        return text.withUTF8(\.originInNormalForm)
    }
}

extension URL {
    /// The path of a file URL without empty components and without `.`, so that a file in an existing directory has one
    /// path, apart from symbolic links and `..`.
    var filePath: String { plainFilePath ?? plainDirectoryPath ?? path.omittingEmptyComponents }

    /// The path of a file if the URL is evidently one in its plain form, otherwise nil.
    ///
    /// Such a URL is `file://` and an absolute path without escapes, empty components, and dot segments.
    /// Most destinations are of this kind, and Foundation's properties take many times as long as this check.
    var plainFilePath: String? {
        var text = absoluteString
        return text.withUTF8(\.plainFilePath)
    }

    /// The path of a directory without the slash at its end, if the URL is evidently one in its plain form, otherwise nil.
    private var plainDirectoryPath: String? {
        var text = absoluteString
        return text.withUTF8 { bytes in
            bytes.last == UInt8(ascii: "/") ? UnsafeBufferPointer(rebasing: bytes.dropLast()).plainFilePath : nil
        }
    }

    /// Whether the URL has this plain file path.
    func isPlainFile(at path: String) -> Bool {
        var text = absoluteString
        return text.withUTF8 { $0.plainFilePath?.hasSameBytes(as: path) == true }
    }

    /// Whether the URL has a plain file path.
    var isPlainFile: Bool {
        var text = absoluteString
        return text.withUTF8(\.isPlainFileURL)
    }
}

extension UnsafeBufferPointer<UInt8> {
    fileprivate var plainFilePath: String? {
        isPlainFileURL ? String(decoding: dropFirst("file://".utf8.count), as: UTF8.self) : nil
    }

    fileprivate var isPlainFileURL: Bool {
        guard starts(with: "file:///") else { return false }
        // The bytes of the present component; a component of dots only is not plain.
        var (length, hasOnlyDots) = (0, true)
        for byte in self["file:///".utf8.count...] {
            if byte == UInt8(ascii: "/") {
                if hasOnlyDots { return false }
                (length, hasOnlyDots) = (0, true)
            } else {
                guard byte.isUnchangedInFilePath else { return false }
                length += 1
                if byte != UInt8(ascii: ".") { hasOnlyDots = false }
            }
        }
        return length > 0 && !hasOnlyDots
    }

    fileprivate var isURLInNormalForm: Bool {
        authorityInNormalForm.map { self[$0.path...].allSatisfy(\.isUnchangedInPath) } ?? false
    }

    fileprivate var originInNormalForm: (scheme: String, host: String, port: Int)? {
        guard let authority = authorityInNormalForm, self[authority.path...].allSatisfy(\.isUnchangedInPath) else {
            return nil
        }
        let host = String(decoding: self[authority.host], as: UTF8.self)
        return (authority.isSecure ? "https" : "http", host, authority.port)
    }

    /// The parts of the URL in front of its path, if they are in normal form.
    private var authorityInNormalForm: (isSecure: Bool, host: Range<Int>, port: Int, path: Int)? {
        let isSecure = starts(with: "https://")
        guard isSecure || starts(with: "http://") else { return nil }
        let (start, defaultPort) = isSecure ? (8, 443) : (7, 80)
        guard let path = self[start...].firstIndex(of: UInt8(ascii: "/")) else { return nil }
        let colon = self[start..<path].firstIndex(of: UInt8(ascii: ":")) ?? path
        guard colon > start, self[start..<colon].allSatisfy(\.isInNormalHost) else { return nil }
        guard colon < path else { return (isSecure, start..<colon, defaultPort, path) }
        guard let port = Self.port(self[(colon + 1)..<path]), port != defaultPort else { return nil }
        return (isSecure, start..<colon, port, path)
    }

    private func starts(with prefix: StaticString) -> Bool {
        prefix.withUTF8Buffer { prefix in
            count >= prefix.count && UnsafeBufferPointer(rebasing: self[..<prefix.count]).hasSameBytes(as: prefix)
        }
    }

    /// Returns the port with these digits, or nil if it is not a valid port in its shortest form.
    private static func port(_ digits: Slice<Self>) -> Int? {
        guard let first = digits.first, first != UInt8(ascii: "0"), digits.count <= 5 else { return nil }
        var port = 0
        for digit in digits {
            guard digit.isASCIIDigit else { return nil }
            port = port * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return port <= 65_535 ? port : nil
    }
}

extension String {
    /// The path without empty components and without `.`.
    fileprivate var omittingEmptyComponents: String {
        let slash = UInt8(ascii: "/")
        let components = utf8.split(separator: slash).filter { !$0.elementsEqual(".".utf8) }
        let path = components.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
        return utf8.first == slash ? "/" + path : path
    }
}

extension UInt8 {
    /// Whether a host that consists of such bytes is the same in normal form.
    fileprivate var isInNormalHost: Bool {
        isASCIIDigit || isASCIILowercase || self == UInt8(ascii: ".") || self == UInt8(ascii: "-")
    }

    /// Whether the byte is unreserved, a slash, a percent sign, or a delimiter that is common in queries (RFC 3986, 3).
    fileprivate var isUnchangedInPath: Bool {
        if isASCIIDigit || isASCIILowercase || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) { return true }
        switch self {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "/"),
            UInt8(ascii: "%"), UInt8(ascii: "?"), UInt8(ascii: "&"), UInt8(ascii: "="), UInt8(ascii: "+"),
            UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: ","), UInt8(ascii: ";"):
            return true
        default:
            return false
        }
    }

    /// Whether a file URL contains the byte if and only if its path does.
    fileprivate var isUnchangedInFilePath: Bool {
        isUnchangedInPath && self != UInt8(ascii: "%") && self != UInt8(ascii: "?") && self != UInt8(ascii: ";")
    }

    private var isASCIILowercase: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }
}
