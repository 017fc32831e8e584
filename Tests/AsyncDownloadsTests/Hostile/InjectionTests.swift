internal import AsyncDownloads
internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of requests whose texts would add lines to a request or to a log; they are never sent.
@Suite(.endsWhenHung)
struct InjectionTests {
    static let fields: [(String, String)] = [
        ("X", "a\r\nInjected: s3cret"), ("X", "a\nInjected: s3cret"), ("X", "a\rInjected: s3cret"), ("X", "a\r\n\r\n"),
        ("X", "a\r\n folded: s3cret"), ("X", "a\n\ts3cret"), ("X", "a\0b"), ("X", "a\u{1B}[31m"), ("X", "a\u{7F}"),
        ("X\r\nInjected", "s3cret"), ("X\nInjected: s3cret", ""), ("X: s3cret", ""),
        ("Authorization: Bearer s3cret", ""),
        ("X Y", "s3cret"), ("X\0", "s3cret"), ("", "s3cret"), (" X", "s3cret"), ("X ", "s3cret"), ("(X)", "s3cret"),
        ("Ünicode", "s3cret"), ("X\u{301}", "s3cret"), ("X,Y", "s3cret"), ("X\u{212A}", "s3cret"),
        ("Transfer-Encoding", "chunked"), ("content-length", "5"), ("Host", "other"), ("Connection", "close"),
    ]

    @Test(arguments: fields)
    func `a malformed header field is rejected and not reported`(_ field: (String, String)) async throws {
        try await TestEnvironment.with { environment async throws in
            var request = environment.request("/one")
            request.headers.append(field.1, for: field.0)
            let error = await EventLog(of: environment.downloader.start(request)).error
            #expect(error?.code == .invalidRequest)
            for text in [error?.description ?? "", request.description] {
                #expect(!text.contains("s3cret"), "\(text)")
                #expect(!text.unicodeScalars.contains { $0.properties.generalCategory == .control }, "\(text)")
            }
            #expect(environment.server.requests().isEmpty)
        }
    }

    /// Unusable URLs, in which HOST stands for the server's address.
    static let unusable = [
        "http://HOST%0d%0aInjected:x/one", "http://HOST%20/one", "http://HOST%00/one", "http://%31%32%37.0.0.1/one",
        "http://a%0d%0ab:s3cret@HOST/one", "http://s3cret%3A@HOST/one", "http://127.0.0.1:0/one",
        "http://127.0.0.1:65536/one",
        "http:///one", "http:one", "//HOST/one", "ftp://HOST/one", "file:///etc/passwd", "data:text/plain,s3cret",
        "javascript:alert(1)", "unix:///run/x", "HTTP+UNIX://HOST/one",
    ]

    @Test(arguments: unusable)
    func `a URL with an unusable scheme, host, or user is rejected`(_ text: String) async throws {
        try await TestEnvironment.with { environment async throws in
            // A text that Foundation doesn't accept as a URL can't be requested.
            guard let url = URL(string: text.replacing("HOST", with: "127.0.0.1:\(environment.server.port)")) else {
                return
            }
            let request = DownloadRequest(from: url, to: environment.directory.appending(path: "file.bin"))
            let error = await EventLog(of: environment.downloader.start(request)).error
            #expect(error?.code == .invalidRequest)
            for text in ["\(error?.description ?? "")", request.description] {
                #expect(!text.contains("s3cret") && !text.contains("\r") && !text.contains("\n"), "\(text)")
            }
            #expect(environment.server.requests().isEmpty)
        }
    }

    @Test(
        arguments: Engine.allCases,
        [
            "/one%0d%0aInjected:%20x", "/one%20HTTP/1.1%0d%0aInjected:%20x", "/one%00", "/one?a=%0d%0aInjected:x",
            "/one two", "/one?a b", "/%2e%2e/one", "/öne",
        ])
    func `escapes in a path or a query are sent unchanged`(_ engine: Engine, _ target: String) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            guard let url = URL(string: "http://127.0.0.1:\(environment.server.port)\(target)") else { return }
            _ = await environment.result(
                of: DownloadRequest(from: url, to: environment.directory.appending(path: "file.bin")))
            let requests = environment.server.requests()
            #expect(requests.map(\.path) == [url.path(percentEncoded: true)])
            #expect(requests.first?.query == url.query(percentEncoded: true))
            #expect(requests.allSatisfy { $0["Injected"] == nil })
        }
    }
}
