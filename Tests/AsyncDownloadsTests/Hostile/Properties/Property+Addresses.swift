internal import Foundation

@testable import AsyncDownloads

/// The properties of redirects and requests: they lead only to http and https URLs, and a URL has a stable origin.
extension Property {
    static func redirect(_ text: String) throws {
        guard let current = URL(string: "https://example.com/a/b?c") else { return }
        guard case .success(let target) = Redirect.target(location: text, relativeTo: current) else { return }
        try demand(target.scheme?.asciiLowercased() == "https", "another scheme")
        try demand(target.user == nil && target.password == nil && target.fragment == nil, "credentials or a fragment")
        try demand(Origin(target) != nil, "no origin")
        try demandOneLine(target)
        guard case .success(let again) = Redirect.target(location: target.absoluteString, relativeTo: current) else {
            throw Violation(description: "rejected the second time")
        }
        try demand(again.absoluteString == target.absoluteString, "another target the second time")
    }

    static func transferKey(_ text: String) throws {
        guard let url = URL(string: text) else { return }
        let request = DownloadRequest(from: url, to: URL(fileURLWithPath: "/d/f"))
        guard request.validationError == nil else { return }
        let key = TransferKey(url: url, headers: [:])
        guard let keyURL = URL(string: key.url) else { throw Violation(description: "a key that is not a URL") }
        try demand(TransferKey(url: keyURL, headers: [:]) == key, "another key the second time")
        try demand(Origin(keyURL) == Origin(url), "another origin")
        try demandOneLine(keyURL)
    }

    /// Checks that an engine and a log write the URL as a single line without spaces (RFC 9112, 3).
    private static func demandOneLine(_ url: URL) throws {
        let texts = [url.absoluteString, url.host() ?? "", url.redacted]
        let isVisible: (UInt8) -> Bool = { $0 > 0x20 && $0 < 0x7F }
        for text in texts { try demand(text.utf8.allSatisfy(isVisible), "spaces or control characters") }
    }
}
