internal import AsyncDownloads
internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

/// Tests of suggested file names, from the header field to the file in the directory.
@Suite(.endsWhenHung)
struct SuggestedNameTests {
    /// A raw `Content-Disposition` field and the expected name of the file.
    struct Suggestion: Sendable, CustomTestStringConvertible {
        let field: String
        let name: String
        /// Whether an engine may reject the whole response, because the field contains a forbidden character.
        var isMalformed = false

        var testDescription: String { field.debugDescription }
    }

    /// The suggestions that are tried with each engine, because the engines limit or change such fields.
    static let suggestionsOfEachEngine: [Suggestion] = [
        plain("", fallback),
        plain(String(repeating: "a", count: 300) + ".txt", String(repeating: "a", count: 251) + ".txt"),
        plain("a\u{0}b", "a_b", malformed: true),
        plain("a\u{1B}[31mb\u{7F}", "a_[31mb_", malformed: true),
        extended("UTF-8''..%2F..%2Fescaped", "escaped"),
        Suggestion(field: "attachment; filename=../unquoted name.txt; size=5", name: "unquoted name.txt"),
    ]

    static let suggestions: [Suggestion] = [
        plain("../escaped", "escaped"),
        plain("../../../../../../../../tmp/escaped", "escaped"),
        plain(#"..\\..\\escaped"#, #"..\..\escaped"#),
        plain(#"..\..\escaped"#, "....escaped"),
        plain("/etc/passwd", "passwd"),
        plain(#"\\\\server\\share\\file.txt"#, #"\\server\share\file.txt"#),
        plain(#"C:\\Windows\\win.ini"#, #"C:\Windows\win.ini"#),
        plain("C:evil.exe", "C:evil.exe"),
        plain("file.txt::$DATA", "file.txt::$DATA"),
        plain("a/b/../../../c", "c"),
        plain("a/", "a"),
        plain("..", fallback),
        plain(".", fallback),
        plain("...", "..."),
        plain("/", fallback),
        plain(" ", " "),
        plain("../", fallback),
        plain(".bashrc", ".bashrc"),
        plain("..hidden", "..hidden"),
        plain(".ssh/authorized_keys", "authorized_keys"),
        plain("trailing. . ", "trailing. . "),
        plain("CON", "CON"),
        plain("nul.txt", "nul.txt"),
        plain("com1.tar.gz", "com1.tar.gz"),
        plain("a<b>c:d|e?f*g", "a<b>c:d|e?f*g"),
        plain(#"quo\"ted\".txt"#, #"quo"ted".txt"#),
        plain(#"\.\.\/escaped"#, "escaped"),
        plain("%2e%2e%2fescaped", "%2e%2e%2fescaped"),
        plain("~/.profile", ".profile"),
        plain("$(reboot)`id`;x", "$(reboot)`id`;x"),
        plain("-rf", "-rf"),
        extended("UTF-8''%2e%2e%5cescaped", #"..\escaped"#),
        extended("UTF-8''%2Fetc%2Fpasswd", "passwd"),
        extended("UTF-8''%00%2e%2e%00%2fx%0d%0aSet-Cookie%3a%20a", "x__Set-Cookie: a"),
        extended("UTF-8''invoice%E2%80%AEfdp.exe", "invoice_fdp.exe"),
        extended("UTF-8''a%E2%80%8Bb%EF%BB%BFc%E2%80%A8d", "a\u{200B}b\u{FEFF}c_d"),
        extended("UTF-8''%C0%AE%C0%AE%C0%AFescaped", fallback),
        extended("UTF-8''%EF%BC%8F..%EF%BC%8Fwide", "\u{FF0F}..\u{FF0F}wide"),
        extended("UTF-8''%CC%81%2f..%2f%CC%81mark", "\u{301}mark"),
        extended("UTF-8''" + String(repeating: "%E6%97%A5", count: 100), String(repeating: "日", count: 85)),
        extended("ISO-8859-1'en'..%2F%A3.txt", "£.txt"),
        extended("UTF-16''a%00b", fallback),
        extended("..%2Fescaped", fallback),
        Suggestion(field: #"attachment; filename="plain"; filename*=UTF-8''..%2Fstar"#, name: "star"),
        Suggestion(field: #"attachment; filename*=UTF-8''%ZZ; filename="../plain""#, name: "plain"),
        Suggestion(field: #"attachment; filename="first"; filename="../second""#, name: "first"),
        Suggestion(field: #"attachment; filename*0="../a"; filename*1="/b""#, name: fallback),
        Suggestion(field: #"attachment; filename*0*=UTF-8''..%2F; filename*1*=b"#, name: fallback),
        Suggestion(field: "filename=../no-type", name: "no-type"),
        Suggestion(field: #"attachment; name="../x"; fil="../y""#, name: fallback),
        Suggestion(field: #"attachment; filename="../open"#, name: "open"),
        Suggestion(field: #"attachment; x="filename=../decoy"; filename=real"#, name: "real"),
    ]

    static let cases: [(Engine, Suggestion)] =
        suggestions.map { (Engine.preferred, $0) }
        + Engine.allCases.flatMap { engine in suggestionsOfEachEngine.map { (engine, $0) } }

    private static let fallback = "fallback.bin"

    private static func plain(_ name: String, _ file: String, malformed: Bool = false) -> Suggestion {
        Suggestion(field: "attachment; filename=\"\(name)\"", name: file, isMalformed: malformed)
    }

    private static func extended(_ value: String, _ file: String) -> Suggestion {
        Suggestion(field: "attachment; filename*=\(value)", name: file)
    }

    @Test(arguments: cases)
    func `a suggested name never leaves the directory`(_ engine: Engine, _ suggestion: Suggestion) async throws {
        try await TestEnvironment.with(engine) { environment async throws in
            let content = Content(seed: 22, length: 1000)
            var resource = Resource(content, entityTag: "\"a\"")
            resource.contentDisposition = suggestion.field
            environment.server.serve(resource, at: "/files/\(Self.fallback)")
            let inner = environment.directory.appending(path: "inner")
            let url = environment.server.url("/files/\(Self.fallback)")
            let result = await environment.result(of: DownloadRequest(from: url, into: inner))
            if suggestion.isMalformed, case .failure(let error) = result {
                #expect([.malformedResponse, .connectionLost].contains(error.code), "\(error)")
                return
            }
            let file = try result.get()
            let names = try FileManager.default.contentsOfDirectory(atPath: inner.path)
            #expect(names.map { Array($0.utf8) } == [Array(suggestion.name.utf8)])
            #expect(file.url.deletingLastPathComponent().standardizedFileURL.path == inner.path)
            #expect(try environment.leftovers == ["inner"])
            #expect(try environment.holds(content, at: "inner/\(suggestion.name)"))
        }
    }

    @Test
    func `two resources with the same suggested name of maximum length get two files`() async throws {
        try await TestEnvironment.with { environment async throws in
            for path in ["/a", "/b"] {
                var resource = Resource(Content(seed: 22, length: 1000), entityTag: "\"a\"")
                resource.contentDisposition = "attachment; filename=\"\(String(repeating: "a", count: 300)).txt\""
                environment.server.serve(resource, at: path)
                _ = try await environment.downloader.download(
                    DownloadRequest(from: environment.server.url(path), into: environment.directory))
            }
            #expect(try environment.leftovers.map(\.utf8.count) == [255, 255])
        }
    }

    @Test
    func `a name that begins with a combining mark is restored and finished in its directory`() async throws {
        try await TestEnvironment.with { environment async throws in
            let content = Content(seed: 22, length: 300_000)
            let resource = Resource(content, entityTag: "\"a\"", script: [[.cut(after: 100_000)]])
            environment.server.serve(resource, at: "/%CC%81mark")
            var request = DownloadRequest(from: environment.server.url("/%CC%81mark"), into: environment.directory)
            request.retryPolicy = .never
            _ = await environment.result(of: request)
            let restored = try await environment.downloader.restore(in: environment.directory)
            #expect(restored.map(\.progress.receivedByteCount) == [100_000])
            for download in restored {
                download.resume()
                #expect(try await download.file.byteCount == content.length)
            }
            #expect(try environment.leftovers == ["\u{301}mark"])
        }
    }
}
