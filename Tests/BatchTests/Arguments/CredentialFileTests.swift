internal import AsyncDownloads
internal import Foundation
internal import TestSupport
internal import Testing

@testable import batch

/// Tests of the files with logins and cookies, and of the headers that follow from them.
@Suite(.endsWhenHung) struct CredentialFileTests {
    private static let logins = """
        # comment
        machine a.example login one password two
        machine b.example
          login "o n e"
          password "t\\"wo"
          account ignored
        machine a.example login other password other
        macdef init
        cd /pub
        machine no.example

        default login guest password x
        """

    @Test(arguments: [
        ("http://a.example/x", "one:two"), ("http://A.EXAMPLE:8080/x", "one:two"), ("http://b.example", "o n e:t\"wo"),
        ("http://sub.a.example", "guest:x"), ("http://no.example", "guest:x"),
    ])
    func `a login is for exactly its host`(url: String, credentials: String) throws {
        let url = try #require(URL(string: url))
        let value = "Basic " + Data(credentials.utf8).base64EncodedString()
        #expect(try Netrc(Self.logins).login(for: url)?.basicCredentials == value)
        #expect(try Netrc("machine c.example login a password b").login(for: url) == nil)
    }

    @Test func `a number sign begins a comment, but not within a password`() throws {
        let netrc = try Netrc("machine a.example login one password #two#three # comment\nmachine b.example")
        let login = netrc.login(for: try #require(URL(string: "http://a.example/")))
        #expect(login?.basicCredentials == "Basic " + Data("one:#two#three".utf8).base64EncodedString())
    }

    @Test(arguments: ["machine", "login a", "machine a login", "machine a s3cret b", "machine a login b machine"])
    func `an invalid file of logins is an error without its secrets`(text: String) {
        let error = #expect(throws: Misuse.self) { try Netrc(text) }
        #expect(error?.description.contains("s3cret") == false)
    }

    private static let cookies = """
        # Netscape HTTP Cookie File

        a.example\tFALSE\t/\tFALSE\t0\thost\t1
        .b.example\tTRUE\t/\tFALSE\t2000000000\tdomain\t2
        #HttpOnly_a.example\tFALSE\t/dir\tFALSE\t0\tpath\t3
        a.example\tFALSE\t/\tTRUE\t0\tsecure\t4
        a.example\tFALSE\t/\tFALSE\t1000\texpired\t5
        a.example\tFALSE\t/dir/\tFALSE\t0\tempty\t
        """

    @Test(arguments: [
        ("http://a.example", "host=1"), ("http://A.example/dirx", "host=1"), ("https://a.example/", "host=1; secure=4"),
        ("http://a.example/dir", "path=3; host=1"), ("http://a.example/dir/x", "empty=; path=3; host=1"),
        ("http://x.a.example/", nil), ("http://b.example/", "domain=2"), ("http://x.b.example/", "domain=2"),
        ("http://xb.example/", nil),
    ])
    func `a cookie is sent by its domain, path, security, and expiry`(url: String, value: String?) throws {
        let url = try #require(URL(string: url))
        try withFile(Self.cookies) { path in
            let file = try CookieFile(argument: path)
            #expect(file.header(for: url, at: Date(timeIntervalSince1970: 1_900_000_000)) == value)
        }
    }

    @Test(arguments: [
        "a.example FALSE / FALSE 0 n s3cret", "a.example\tFALSE\t/\tFALSE\tsoon\tn\ts3cret",
        "a.example\tFALSE\t/\tFALSE\t0\tn\ts3cret;x", "a.example\tFALSE\t/\tFALSE\t0\t\ts3cret",
    ])
    func `a line that is no cookie is skipped, and a file without any cookie is an error without the secrets`(
        line: String
    ) throws {
        try withFile("# first\n\(line)\n") { path in
            let error = #expect(throws: Misuse.self) { try CookieFile(argument: path) }
            #expect(error?.description.contains("no line is a cookie") == true)
            #expect(error?.description.contains("s3cret") == false)
        }
        try withFile("\(line)\na.example\tFALSE\t/\tFALSE\t1999999999.5\tn\tv\n") { path in
            let url = try #require(URL(string: "http://a.example"))
            #expect(try CookieFile(argument: path).header(for: url, at: Date(timeIntervalSince1970: 1)) == "n=v")
        }
        for (expiry, isSent) in [("9223372036854775807", true), ("1e300", true), ("0.5", false), ("nan", false)] {
            try withFile("a.example\tFALSE\t/\tFALSE\t\(expiry)\tn\tv\na.example\tFALSE\t/\tFALSE\t0\tm\tw\n") { path in
                let url = try #require(URL(string: "http://a.example"))
                let header = try CookieFile(argument: path).header(for: url, at: Date(timeIntervalSince1970: 10))
                #expect(header == (isSent ? "n=v; m=w" : "m=w"), "\(expiry)")
            }
        }
        try withFile("# only a comment\n") { path in _ = try CookieFile(argument: path) }
    }

    @Test func `a file of headers has one a line`() throws {
        try withFile("# comment\nA: 1\r\n\nB: 2\n") { path in
            let list = try HeaderList("@" + path)
            #expect(list.lines.map(\.name) == ["A", "B"])
        }
        try withFile("A: 1\ns3cret\n") { path in
            let error = #expect(throws: Misuse.self) { try HeaderList("@" + path) }
            #expect(error?.description.contains(":2: ") == true)
            #expect(error?.description.contains("s3cret") == false)
        }
    }

    @Test func `credentials go to their hosts, and a header of the user's replaces them`() throws {
        try withFile(Self.cookies) { path in
            var settings = RequestSettings(
                netrc: try Netrc("machine a.example login one password two"), cookies: try CookieFile(argument: path))
            var item = Item(address: try Address("http://a.example/x"))
            item.mirrors = [try Address("http://other.example/x")]
            let first = settings.request(for: item, at: item.address)
            #expect(first.headers["Authorization"]?.hasPrefix("Basic ") == true)
            #expect(first.headers["Cookie"] == "host=1")
            // The cookies may identify the user as well.
            #expect(first.account == nil)
            let withLogin = RequestSettings(netrc: settings.netrc).request(for: item, at: item.address)
            #expect(withLogin.account != nil && withLogin.account?.contains("one") == false)
            let mirror = settings.request(for: item, at: item.mirrors[0])
            #expect(mirror.headers.isEmpty && mirror.identity == first.identity && mirror.account == nil)
            settings.headers = [try HeaderLine("Authorization: own"), try HeaderLine("X: 1")]
            settings.publicHeaders = [try HeaderLine("Accept: a/b")]
            #expect(settings.request(for: item, at: item.address).headers["Authorization"] == "own")
            let plain = settings.request(for: item, at: item.mirrors[0])
            #expect(plain.headers.map(\.name) == ["Accept"])
        }
    }

    private func withFile(_ text: String, _ body: (String) throws -> Void) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try Data(text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try body(file.path)
    }
}
