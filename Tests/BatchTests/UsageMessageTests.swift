internal import ArgumentParser
internal import TestSupport
internal import Testing

@testable import batch

@Suite(.endsWhenHung)
struct UsageMessageTests {
    @Test(arguments: [
        (["http://a.example/x", "--heaader"], "Error: unknown option --heaader; did you mean --header?"),
        (["http://a.example/x", "--cheksum", "sha-256=00"], "unknown option --cheksum; did you mean --checksum?"),
        (["--cheksum=s3cret", "http://a.example/x"], "unknown option --cheksum; did you mean --checksum?"),
        (["http://a.example/x", "--frobnicate"], "unknown option --frobnicate\n"),
        (["http://a.example/x", "-z"], "Unknown option '-z'"),
        (["http://a.example/x", "-j", "many"], "The value is invalid for '-j <n>'"),
        (
            ["ftp://u:p@a.example/x?q#f"],
            "The value 'ftp://a.example/x' is invalid for '<url>': only http and https"
        ),
        (["http://a.example/x", "--engine", "curl"], "the values are nio, http-client, urlsession"),
        (["http://a.example/x", "--header", "nonsense"], "a header has the form Name: value"),
        (["http://a.example/x", "-j"], "Missing value for '-j <n>'"),
        (["-d", "dir"], "-d was given, but nothing to download"),
        (["http://a.example/x", "-j", "5000"], "-j requires a number from 1 to 1024"),
    ])
    func `the helpful parts of a message are retained`(_ arguments: [String], _ words: String) throws {
        let error = try #require(throws: (any Error).self) { try Batch.parse(arguments) }
        let message = UsageMessage(
            Batch.fullMessage(for: error), arguments: arguments, options: Batch.optionNames(of: Batch.self)
        ).description
        #expect(message.contains(words), "\(message)")
    }

    @Test(arguments: [
        ("Unknown option '-us3cret'", ["-us3cret"], "Unknown option '-u…'"),
        ("no '--a', no 's3cret'", ["--a=s3cret"], "no '--a', no '…'"),
        ("no 's3cret' and 's3cret x'", ["s3cret", "s3cret x"], "no '…' and '…'"),
        ("one of 'wait' and 'fail'", ["wait"], "one of 'wait' and 'fail'"),
        ("no 'http://h:5/p?s3cret'", ["http://h:5/p?s3cret"], "no 'http://h:5/p'"),
        ("no 'http://u:1/2@h/p'", ["http://u:1/2@h/p"], "no '…'"),
    ])
    func `each quoted argument in a message is redacted`(_ message: String, _ arguments: [String], _ text: String) {
        #expect(UsageMessage(message, arguments: arguments).description == text)
    }

    @Test func `a message that repeats an argument without quotes is replaced as a whole`() {
        let message = UsageMessage("Invalid option: s3cret", arguments: ["---=s3cret"]).description
        #expect(!message.contains("s3cret"))
        #expect(message.contains("--help"))
    }
}
