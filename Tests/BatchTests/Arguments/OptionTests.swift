internal import ArgumentParser
internal import AsyncDownloads
internal import Foundation
internal import LoopbackServer
internal import TestSupport
internal import Testing

@testable import batch

@Suite(.endsWhenHung) struct OptionTests {
    @Test(arguments: [
        [], ["http://a/x"], ["--clean", "dir", "-q"], ["--checksums", "list", "--base", "http://a/"],
        ["-i", "list", "--base", "http://a/b"], ["http://a/x", "-4"], ["http://a/x", "--ipv6", "--remote-time"],
        ["http://a/x", "https://b/y", "-d", "dir", "-j", "3"], ["-i", "-"], ["http://a/x", "-o", "sub/name"],
        ["http://a/x", "--header", "A: b", "--header", "C: d", "--retries", "0", "--timeout", "0.5"],
        ["http://a/x", "--durability", "process-crash", "--engine", "http-client"],
        ["http://a/x", "--directories"], ["http://a/x", "--directories", "--cut-dirs", "0"],
        ["http://a/x", "-x", "16"], ["http://a/x", "--connections", "1"],
        ["http://a/x", "--deadline", "0.5", "--max-bytes", "0", "--in-use", "wait", "--existing", "keep"],
    ])
    func `the documented options are accepted`(arguments: [String]) throws {
        _ = try Batch.parse(arguments)
    }

    @Test(arguments: [
        (["-d", "dir"], "-d was given"), (["-q"], "-q was given"), (["--json"], "--json was given"),
        (["--engine", "nio"], "--engine was given"), (["--existing", "keep"], "--existing was given"),
        (["--checksums", "list"], "--checksums requires --base"),
        (["http://a/x", "--base", "http://a"], "--base requires a manifest"),
        (["-i", "list", "--base", "a/b"], "not a valid URL"),
        (["-i", "-", "--checksums", "-", "--base", "http://a"], "only one manifest can be read from standard input"),
        (["http://a/x", "-4", "-6"], "exclude each other"),
        (["http://a/x", "-4", "--engine", "urlsession"], "-4 isn't supported by --engine urlsession"),
        (["http://a/x", "--report", "r", "--failed", "./r"], "cannot be written to the same file"),
        (["http://a/x", "--header", "@/nonexistent/file"], "file cannot be read"),
        (["http://a/x", "--load-cookies", "/nonexistent/file"], "file cannot be read"),
        (["--header", "A: b"], "nothing to download"),
        (["-j", "2", "--json"], "-j was given"),
        (["http://a/x", "http://a/y", "-o", "n"], "single URL"),
        (["-i", "list", "-o", "n"], "single URL"),
        (["http://a/x", "-i", "list", "--checksum", "sha-256=" + String(repeating: "0", count: 64)], "single URL"),
        (["http://a/x", "--checksum", "md5=00"], "sha-256"),
        (["http://a/x", "-o", "../n"], "cannot contain .."),
        (["http://a/x", "-j", "0"], "1 to 1024"),
        (["http://a/x", "-j", "99999999999999999999"], "-j"),
        (["http://a/x", "-j", "many"], "many"), (["http://a/x", "--per-host", "0"], "1 to 1024"),
        (["http://a/x", "-x", "0"], "1 to 16"),
        (["http://a/x", "-x", "17"], "1 to 16"),
        (["-x", "2"], "-x was given"),
        (["http://a/x", "--retries", "-1"], "retries"),
        (["http://a/x", "--timeout", "0"], "timeout"),
        (["http://a/x", "--timeout", "nan"], "timeout"),
        (["http://a/x", "--timeout", "1e300"], "timeout"),
        (["http://a/x", "--deadline", "0"], "deadline"),
        (["http://a/x", "--deadline", "inf"], "deadline"),
        (["http://a/x", "--max-bytes", "-1"], "max-bytes"),
        (["http://a/x", "--max-bytes", "1.5M"], "K, M, or G"),
        (["http://a/x", "--max-bytes", "9999999999G"], "too large"),
        (["http://a/x", "--in-use", "steal"], "wait"),
        (["http://a/x", "--cut-dirs", "1"], "--cut-dirs requires --directories"),
        (["http://a/x", "--directories", "--cut-dirs", "-1"], "cut-dirs"),
        (["http://a/x", "--directories", "--cut-dirs=-1"], "at least 0"),
        (["http://a/x", "--directories", "--cut-dirs", "many"], "cut-dirs"),
        (["http://a/x", "--directories", "--cut-dirs", "1.5"], "cut-dirs"),
        (["--directories"], "--directories was given"),
        (["--max-bytes", "1"], "--max-bytes was given"),
        (["--limit-rate", "1"], "--limit-rate was given"),
        (["http://a/x", "--limit-rate", "0"], "--limit-rate requires"),
        (["http://a/x", "--limit-rate", "fast"], "K, M, or G"),
        (["http://a/x", "--pace", "0/1"], "N/SECONDS"),
        (["http://a/x", "--pace", "1/0"], "N/SECONDS"),
        (["http://a/x", "--pace", "10"], "N/SECONDS"),
        (["http://a/x", "--pace", "1/2/3"], "N/SECONDS"),
        (["http://a/x", "--pace", "1/nan"], "N/SECONDS"),
        (["--pace", "1/1"], "--pace was given"),
        (["http://a/x", "--min-rate", "0"], "--min-rate requires"),
        (["--min-rate", "1"], "--min-rate was given"),
        (["--deadline", "1"], "--deadline was given"),
        (["--in-use", "fail"], "--in-use was given"),
        (["http://a/x", "--engine", "curl"], "urlsession"),
        (["http://a/x", "--durability", "none"], "power-loss"),
        (["http://a/x", "--header", "nonsense"], "Name: value"),
        (["gopher://a/x"], "http and https"),
        (["nonsense"], "not a valid URL"),
    ])
    func `the message for wrong usage states the expected form`(arguments: [String], words: String) throws {
        let error = try #require(throws: (any Error).self) { try Batch.parse(arguments) }
        #expect(Batch.fullMessage(for: error).contains(words), "\(Batch.fullMessage(for: error))")
    }

    @Test(arguments: [
        "--on-duplicate", "--no-continue", "--fail-fast", "--shard",
    ])
    func `options that are not implemented are rejected, and the exit status is 64`(option: String) throws {
        let error = try #require(throws: (any Error).self) { try Batch.parse(["http://a/x", option, "1"]) }
        #expect(Batch.exitCode(for: error).rawValue == 64)
    }

    @Test(arguments: [["http://a/x", "-d", ""], ["--clean", ""]])
    func `an empty directory is rejected, because a variable of a script may be unset`(arguments: [String]) throws {
        let error = try #require(throws: (any Error).self) { try Batch.parse(arguments) }
        #expect(Batch.fullMessage(for: error).contains("the directory is empty"))
    }

    @Test func `the options determine the downloader's configuration`() throws {
        let batch = try Batch.parse([
            "http://a/x", "-j", "3", "--per-host", "2", "--retries", "7", "--timeout", "1.5", "--durability",
            "process-crash", "--engine",
            "urlsession", "--deadline", "2.5", "--in-use", "fail", "--max-bytes", "3K", "-x", "5",
            "--limit-rate", "2M", "--pace", "100/10", "--min-rate", "8K", "--host-patience", "60", "--remote-time",
        ])
        let configuration = batch.transfers.downloaderConfiguration
        #expect(configuration.maximumConcurrentTransfers == 3)
        #expect(configuration.maximumConcurrentTransfersPerHost == 2)
        #expect(configuration.retryPolicy.maximumRetries == 7)
        #expect(configuration.hostPatience == .seconds(60))
        #expect(configuration.idleTimeout == .milliseconds(1500))
        #expect(configuration.durability == .processCrash)
        #expect(configuration.transport == .urlSession)
        #expect(configuration.deadline == .milliseconds(2500))
        #expect(configuration.partialInUsePolicy == .fail)
        #expect(configuration.bandwidthLimit == .bytesPerSecond(2 << 20))
        #expect(configuration.requestPace == RequestPace(count: 100, period: .seconds(10)))
        #expect(configuration.minimumRate == 8 << 10)
        #expect(configuration.fileAttributes.usesLastModified)
        #expect(try batch.transfers.requestSettings.maximumByteCount == 3072)
        #expect(try batch.transfers.requestSettings.connectionCount == 5)
        #expect(batch.transfers.window == 12)
    }

    @Test func `without options, the defaults of the library apply`() throws {
        let configuration = try Batch.parse(["http://a/x"]).transfers.downloaderConfiguration
        let plain = Downloader.Configuration()
        #expect(configuration.maximumConcurrentTransfers == plain.maximumConcurrentTransfers)
        #expect(configuration.maximumConcurrentTransfersPerHost == plain.maximumConcurrentTransfersPerHost)
        #expect(configuration.retryPolicy == plain.retryPolicy)
        #expect(configuration.hostPatience == .seconds(300))
        #expect(configuration.idleTimeout == plain.idleTimeout)
        #expect(configuration.durability == plain.durability)
        #expect(configuration.transport == plain.transport)
        #expect(configuration.deadline == plain.deadline)
        #expect(configuration.partialInUsePolicy == plain.partialInUsePolicy)
        #expect(configuration.bandwidthLimit == .unlimited)
        #expect(configuration.requestPace == nil)
        #expect(configuration.minimumRate == 0)
        #expect(configuration.additionalTrustRoots == nil)
        #expect(configuration.fileAttributes == plain.fileAttributes)
        #expect(configuration.addressFamily == .any)
    }

    /// Runs `body` with the path of a file of one root certificate.
    private func withRootFile(_ body: (String) throws -> Void) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try Data(Certificate.root.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try body(file.path)
    }

    @Test func `--ca-file adds the certificates of a file to those of the system`() throws {
        try withRootFile { path in
            let batch = try Batch.parse(["https://a/x", "--engine", "nio", "--ca-file", path])
            #expect(
                try batch.transfers.downloaderConfiguration.additionalTrustRoots
                    == TrustRoots(pem: Data(Certificate.root.utf8)))
        }
    }

    @Test(arguments: [
        (["https://a/x", "--engine", "urlsession"], "isn't supported by --engine urlsession"),
        (["--engine", "nio"], "--ca-file was given"),
        (["--clean", "dir", "--engine", "http-client"], "--clean cannot be combined"),
    ])
    func `--ca-file is wrong usage where it has no effect`(arguments: [String], words: String) throws {
        try withRootFile { path in
            let error = try #require(throws: (any Error).self) { try Batch.parse(arguments + ["--ca-file", path]) }
            #expect(Batch.exitCode(for: error).rawValue == 64)
            #expect(Batch.fullMessage(for: error).contains(words), "\(Batch.fullMessage(for: error))")
        }
    }

    @Test func `items are numbered in order, and common headers precede their own`() async throws {
        let list = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try Data("http://a/z\n  header=Own: 1\n".utf8).write(to: list)
        defer { try? FileManager.default.removeItem(at: list) }
        let batch = try Batch.parse(["http://a/x", "http://a/y", "-i", list.path, "--header", "All: 0"])
        var feed = batch.feed()
        try await feed.readAhead()
        #expect(feed.isComplete && feed.knownCount == 3)
        for (id, url) in ["http://a/x", "http://a/y", "http://a/z"].enumerated() {
            let item = try #require(try await feed.next()?.item)
            #expect(item.id == id && item.address.text == url)
            let request = try batch.transfers.requestSettings.request(for: item, at: item.address)
            #expect(request.headers.map(\.name) == (id == 2 ? ["All", "Own"] : ["All"]))
        }
    }

    @Test func `a manifest that cannot be read is wrong usage`() async throws {
        var feed = try Batch.parse(["-i", "/nonexistent/list"]).feed()
        let error = await #expect(throws: ManifestFailure.self) { try await feed.readAhead() }
        #expect(error?.description.hasPrefix("/nonexistent/list: cannot be read: ") == true)
    }
}
