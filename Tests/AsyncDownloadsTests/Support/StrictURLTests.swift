import Foundation
import TestSupport
import Testing

@testable import AsyncDownloads

@Suite("URLs that are taken as they are written, or refused", .endsWhenHung)
struct StrictURLTests {
    @Test(
        "a URL is kept as it is",
        arguments: ["https://example.com/a%20b?c=d#e", "http://[::1]:8080/", "https://example.com/%C3%A9"])
    func urlIsKept(text: String) {
        #expect(URL(strict: text)?.absoluteString == text)
    }

    @Test(
        "text that would have to be escaped is refused",
        arguments: ["", "https://example.com/a b", "https://example.com/é", "https://example.com/a\r\nHost: b"])
    func textThatNeedsEscapingIsRefused(text: String) {
        #expect(URL(strict: text) == nil)
    }
}
