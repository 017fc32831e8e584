internal import ArgumentParser
internal import Foundation
internal import TestSupport
internal import Testing

@testable import benchmark

/// Tests of the workloads and of the command lines that do them.
@Suite(.endsWhenHung)
struct WorkloadTests {
    @Test(arguments: Workload.allCases)
    func `the library does each workload first, and each reference does it too`(_ workload: Workload) {
        #expect(workload.programs.first == .library)
        #expect(Set(workload.programs).count == workload.programs.count)
        #expect(!workload.references.isEmpty && !workload.references.contains(.library))
        #expect(Set(workload.references).isSubset(of: workload.programs))
        #expect(workload.fileLength(.quick) <= workload.fileLength(.full))
    }

    @Test func `each workload has a title of its own`() {
        #expect(Set(Workload.allCases.map { $0.title(.full) }).count == Workload.allCases.count)
    }

    @Test(arguments: [
        ([], WorkloadSize.full, 15), (["--quick"], .quick, 15), (["compare", "--quick"], .quick, 15),
        (
            ["--quick", "--files", "7", "--mebibytes", "3", "--workloads", "small-tls", "sha-256"],
            WorkloadSize(
                files: 7, mebibytes: 3, delayedFiles: 7, limitedSeconds: 3, requestSeconds: 2, requestedFiles: 60,
                origins: 2), 2
        ),
    ])
    func `without a subcommand, the options are those of the comparison`(
        arguments: [String], size: WorkloadSize, workloads: Int
    ) throws {
        let command = try #require(try Benchmark.parseAsRoot(arguments) as? CompareCommand)
        #expect(command.size == size)
        #expect(command.workloads.count == workloads)
    }

    @Test(arguments: [["--rounds", "0"], ["--files", "0"], ["--mebibytes", "-1"], ["--workloads", "huge"]])
    func `wrong usage is refused`(arguments: [String]) {
        #expect(throws: (any Error).self) { try Benchmark.parseAsRoot(arguments) }
    }

    @Test func `options of a fetch are the same after they were passed on a command line`() throws {
        for options in [
            FetchOptions(), FetchOptions(jobs: 3, isBare: true),
            FetchOptions(
                jobs: 1, connections: 2, durability: .powerLoss, sha256: "00", rootFile: "/a b", limitRate: 5,
                subscribers: 100, hasUnreadHandle: true, retriesAtOnce: true, engine: .urlSession),
        ] {
            #expect(try FetchCommand.parse(["list"] + options.arguments).options == options)
        }
    }

    @Test func `only the library does what a workload adds, and its variants are measured without it`() {
        func options(_ program: Program, _ workload: Workload) -> FetchOptions {
            program.fetchOptions(workload, rootFile: nil, sha256: "d")
        }
        let plain = FetchOptions(jobs: 16, durability: .processCrash)
        #expect(options(.library, .large) == plain)
        for (workload, variant) in [
            (Workload.sha256, Program.withoutChecksum), (.slow, .automaticNumber), (.connections, .oneConnection),
            (.subscribers, .oneHandle),
            (.unreadEvents, .oneHandle), (.smallPowerLoss, .processCrash),
        ] {
            #expect(options(variant, workload) == plain)
            #expect(options(.library, workload) != plain)
        }
        #expect(options(.library, .latency) == FetchOptions(), "the defaults of the library")
        #expect(options(.processCrash, .latency) == FetchOptions(durability: .processCrash))
        #expect(options(.bare, .small).isBare)
    }

    @Test func `a list of files is read as it was written`() throws {
        let directory = try TemporaryDirectory("test")
        defer { directory.remove() }
        let url = try #require(URL(string: "http://127.0.0.1/a?b"))
        let transfers = [FileTransfer(url: url, path: "/tmp/with a space")]
        let list = directory.file("list")
        try Data(transfers.map(\.line).joined().utf8).write(to: list)
        let read = try FileTransfer.read(list)
        #expect(read.map(\.url) == [url] && read.map(\.path) == ["/tmp/with a space"])
    }
}
