internal import AsyncDownloads
internal import Foundation
internal import TestSupport
internal import Testing

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Requests that are created from requests of Foundation.
@Suite(.endsWhenHung)
struct URLRequestTests {
    private static let url = URL.sample("https://a.example/file")

    @Test func `the URL, the header fields, and the limits are used`() throws {
        var request = URLRequest(url: Self.url, timeoutInterval: 5)
        request.setValue("Bearer token", forHTTPHeaderField: "Authorization")
        request.allowsCellularAccess = false
        let download = try DownloadRequest(request, to: .memory)
        #expect(download.url == Self.url && download.destination == .memory)
        #expect(download.headers["Authorization"] == "Bearer token")
        #expect(download.idleTimeout == .seconds(5) && download.networkAccess?.allowsCellular == false)
        let plain = try DownloadRequest(URLRequest(url: Self.url), to: .file(.sample("file:///a")))
        #expect(plain.idleTimeout == nil && plain.networkAccess == nil && plain.headers.isEmpty)
    }

    @Test func `another method and a body are refused`() {
        for change in [{ $0.httpMethod = "POST" }, { $0.httpBody = Data([1]) }, { $0.url = nil }]
            as [(inout URLRequest) -> Void]
        {
            var request = URLRequest(url: Self.url)
            change(&request)
            let error = #expect(throws: DownloadError.self) { try DownloadRequest(request, to: .memory) }
            #expect(error?.code == .invalidRequest)
        }
    }
}
