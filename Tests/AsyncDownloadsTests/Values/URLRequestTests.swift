internal import AsyncDownloads
internal import Foundation
internal import HTTPTypes
internal import TestSupport
internal import Testing

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Requests that are created from requests of Foundation and of swift-http-types.
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

    #if ServerStack
    @Test func `a request of swift-http-types has a URL and repeated fields`() throws {
        var request = HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: "/file?x=1")
        request.headerFields.append(HTTPField(name: .accept, value: "a/b"))
        request.headerFields.append(HTTPField(name: .accept, value: "c/d"))
        let download = try DownloadRequest(request, to: .memory)
        #expect(download.url == .sample("https://a.example/file?x=1"))
        #expect(download.headers.values(for: "Accept") == ["a/b", "c/d"])
        request.path = nil
        #expect(try DownloadRequest(request, to: .memory).url == .sample("https://a.example/"))
        for change in [
            { $0.method = .head }, { $0.scheme = nil }, { $0.authority = nil }, { $0.path = ".b.example/x" },
            { $0.authority = "a.example/x?" }, { $0.authority = "user@a.example" }, { $0.path = "" },
        ] as [(inout HTTPRequest) -> Void] {
            var request = request
            change(&request)
            let error = #expect(throws: DownloadError.self) { try DownloadRequest(request, to: .memory) }
            #expect(error?.code == .invalidRequest)
        }
    }
    #endif
}
