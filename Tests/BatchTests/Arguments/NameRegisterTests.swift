internal import ArgumentParser
internal import AsyncDownloads
internal import Foundation
internal import TestSupport
internal import Testing

@testable import batch

/// Tests of the names that URLs get in the order of a manifest.
@Suite(.endsWhenHung) struct NameRegisterTests {
    private func paths(_ text: String, cutting count: Int? = nil) throws -> [String] {
        try items(text, cutting: count).map(\.path)
    }

    private func items(_ text: String, cutting count: Int? = nil) throws -> [Item] {
        var names = NameRegister(cutDirectoryCount: count)
        return try ManifestParser.entries(of: Array(text.utf8)).map { entry in
            var item = entry.item
            guard names.register(&item) else { throw Misuse("\(entry.outputLine ?? entry.line)") }
            return item
        }
    }

    @Test(arguments: [
        (["1/image.jpg", "2/image.jpg", "3/image.jpg"], ["image.jpg", "image-2.jpg", "image-3.jpg"]),
        // The same resource.
        (["1/x", "2/x", "1/x", "2/x", "1/x#part"], ["x", "x-2", "x", "x-2", "x"]),
        // A query distinguishes resources.
        (["x?a", "x?b"], ["x", "x-2"]),
        // Names that look like numbered ones.
        (["1/a.txt", "2/a.txt", "3/a-2.txt", "4/a.txt"], ["a.txt", "a-2.txt", "a-2-2.txt", "a-3.txt"]),
        (["3/a-2.txt", "1/a.txt", "2/a.txt"], ["a-2.txt", "a.txt", "a-3.txt"]),
        (
            ["1/a.txt", "2/a.txt", "3/a-02.txt", "4/a-2-2.txt", "5/a-2.txt"],
            ["a.txt", "a-2.txt", "a-02.txt", "a-2-2.txt", "a-2-3.txt"]
        ),
        (["", "1/", "2/1"], ["download", "1", "1-2"]),
        (["1/.bashrc", "2/.bashrc", "3/a%3Fb"], [".bashrc", ".bashrc-2", "a?b"]),
    ])
    func `names are numbered in the order of the lines`(_ urls: [String], _ expected: [String]) throws {
        #expect(try paths(urls.map { "http://a/\($0)\n" }.joined()) == expected)
    }

    @Test(arguments: [
        // A file with the name of a directory, before and after it.
        (["p/a", "p/a/b", "p/a/c/d", "p/a-2"], ["p/a", "p/a-2/b", "p/a-2/c/d", "p/a-2-2"]),
        (["p/a/b", "p/a", "q/p/a"], ["p/a/b", "p/a-2", "q/p/a"]),
        // A directory with a name that a file would have got.
        (["a-2/x", "a?1", "a?2", "a-2/y"], ["a-2/x", "a", "a-3", "a-2/y"]),
        // The same resources again.
        (["p", "p/a", "p", "p/a"], ["p", "p-2/a", "p", "p-2/a"]),
    ])
    func `no file has the name of a directory of other files`(_ urls: [String], _ expected: [String]) throws {
        #expect(try paths(urls.map { "http://a/\($0)\n" }.joined(), cutting: 0) == expected)
    }

    @Test func `a given path in a directory that is a file of another URL is an error`() {
        for text in ["http://a/q\nhttp://a/r\n out=q/r\n", "http://a/r\n out=q/r\nhttp://a/q\n out=q\n"] {
            #expect(throws: Misuse.self) { try paths(text) }
        }
    }

    @Test func `an output path counts as the name of its URL`() throws {
        let text = "http://a/1/x\n out=n\nhttp://a/2/n\nhttp://a/3/n\n out=m/n\nhttp://a/4/n-2\n"
        #expect(try paths(text) == ["n", "n-2", "m/n", "n-2-2"])
        // The same resource, with its name and with another one.
        #expect(try paths("http://a/x\nhttp://a/x\n out=x\nhttp://a/x\n out=y\n") == ["x", "x", "y"])
    }

    @Test(arguments: ["x", "x-2"])
    func `an output path that is the name of an earlier URL is an error`(_ path: String) {
        let error = #expect(throws: Misuse.self) {
            try paths("http://a/1/x\nhttp://a/2/x\n\nhttp://a/y\n header=A: b\n out=\(path)\nhttp://a/z\n")
        }
        #expect(error?.description == "6")
    }

    @Test func `long names stay different when a number is added`() throws {
        let (stem, other) = (String(repeating: "x", count: 251), String(repeating: "x", count: 249) + "yy")
        let urls = [(1, stem), (2, stem), (3, other), (4, other), (5, stem)].map { "http://a/\($0)/\($1).txt\n" }
        let paths = try paths(urls.joined())
        #expect(Set(paths).count == 5)
        let cut = String(repeating: "x", count: 249)
        #expect(paths == ["\(stem).txt", "\(cut)-2.txt", "\(other).txt", "\(cut)-3.txt", "\(cut)-4.txt"])
    }

    @Test func `a long list of URLs with one name is numbered in linear time`() throws {
        let paths = try paths((1...30_000).map { "http://a/\($0)/x\n" }.joined())
        #expect(paths.first == "x" && paths.last == "x-30000")
        #expect(Set(paths).count == 30_000)
    }

    @Test func `headers distinguish resources`() throws {
        let text = "http://a/x\n header=Accept: a/b\nhttp://a/x\n public-header=Accept: c/d\nhttp://a/x\n"
        #expect(try paths(text) == ["x", "x-2", "x-3"])
    }

    @Test func `URLs of the command line come first`() async throws {
        var feed = try Batch.parse(["http://a/1/x", "http://a/2/x", "http://a/1/x"]).feed()
        for name in ["x", "x-2", "x"] {
            let next = try await feed.next()
            #expect(next?.item.path == name)
            #expect(next?.item.request.defaultFileName == name)
        }
        #expect(try await feed.next() == nil)
    }

    @Test(arguments: [
        ("http://a/b/c/d.txt", 0, "b/c/d.txt"),
        ("http://a/b/c/d.txt", 1, "c/d.txt"),
        ("http://a/b/c/d.txt", 2, "d.txt"),
        ("http://a/b/c/d.txt", 9, "d.txt"),
        ("http://a/d.txt", 0, "d.txt"),
        ("http://a", 0, "download"),
        ("http://a/b/", 0, "b"),
        ("http://a//b/.//./c//d", 0, "b/c/d"),
        ("http://a/b/../../../c", 0, "b/c"),
        ("http://a/%2e%2e/%2E/b", 0, "b"),
        ("http://a/..%2f..%2fx/b", 0, "x/b"),
        ("http://a/%00/b%0A/c", 0, "_/b_/c"),
        ("http://a/.well-known/x:y/c", 0, ".well-known/x:y/c"),
        ("http://a/b%20c/%E2%82%AC/d?e=/f/g#/h/i", 0, "b c/€/d"),
        ("http://a/~/b", 0, "~/b"),
        ("http://a/.n.0123456789abcdef.lock/b", 0, "_.n.0123456789abcdef.lock/b"),
    ])
    func `the directories of a URL are kept below the output directory`(
        _ url: String, _ count: Int, _ path: String
    ) throws {
        #expect(try paths("\(url)\n", cutting: count) == [path])
        var item = try #require(try items(url, cutting: count).first)
        item.directory = URL(fileURLWithPath: "/d", isDirectory: true)
        let request = item.request
        guard case .directory(let directory) = request.destination else {
            Issue.record("the request names a file")
            return
        }
        #expect("\(directory.path)/\(request.defaultFileName)" == "/d/\(path)")
    }

    @Test func `names are numbered within their directories`() throws {
        let text = ["b/x", "c/x", "b/x?y", "b/c/x"].map { "http://a/\($0)\n" }.joined()
        #expect(try paths(text, cutting: 0) == ["b/x", "c/x", "b/x-2", "b/c/x"])
        #expect(try paths(text, cutting: 1) == ["x", "x-2", "x-3", "c/x"])
        // An output path is relative to the output directory.
        #expect(try paths("http://a/b/x\n out=y\nhttp://a/y\n", cutting: 0) == ["y", "y-2"])
    }
}
