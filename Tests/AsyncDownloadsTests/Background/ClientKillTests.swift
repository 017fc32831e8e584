internal import Foundation
internal import ScriptedDaemon
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

/// A client process that is killed at random moments, while the service continues in this process.
@Suite(.serialized, .endsWhenHung(minutes: 12))
struct ClientKillTests {
    /// The number of processes that each seed kills.
    ///
    /// The last file is not finished before the last kill, so no seed can end with fewer kills.
    private static let killsOfSeed = 10

    @Test(arguments: Seeds.first(5))
    func `each file is in place once, each request has its outcome, and nothing is fetched twice`(
        seed: UInt64
    ) async throws {
        var random = SplitMix64(seed: seed)
        let directory = try TemporaryDirectory()
        let home = "\(directory.path)/home"
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
        let service = ScriptedService(try SpoolDirectory(URL(fileURLWithPath: "\(directory.path)/service")))
        let count = 12
        var fetches: [String: Int] = [:]
        var outcomes: Set<String> = []
        var killCount = 0
        var isDone = false
        while !isDone {
            let isLast = killCount == Self.killsOfSeed
            // A process that only observes receives no outcome, so a later process has to, without another fetch.
            let modes = isLast ? ["restore", "start"] : ["restore", "start", "observe"]
            let mode = modes[Int.random(in: modes.indices, using: &random)]
            let client = try ClientProcess([home, service.directory.root.path, "\(count)", mode])
            // The service finishes some tasks, and the process ends after a random number of steps.
            var stepsLeft = isLast ? Int.max : Int.random(in: 0..<40, using: &random)
            while client.isRunning, stepsLeft > 0 {
                stepsLeft -= 1
                if let task = service.directory.tasks.randomElement(using: &random),
                    Int.random(in: 0..<4, using: &random) == 0, isLast || fetches.count < count - 1
                {
                    fetches[task.url, default: 0] += 1
                    try service.finish(task)
                }
                // Spreads the kills over the life of the process; the result doesn't depend on the time.
                usleep(UInt32.random(in: 0..<2_000, using: &random))
            }
            if client.isRunning {
                client.kill()
                killCount += 1
            }
            let lines = client.waitForLines()
            for line in lines where line.hasPrefix("failed") { Issue.record("seed \(seed): \(line)") }
            outcomes.formUnion(
                lines.filter { $0.hasPrefix("finished") }.map { $0.split(separator: " ")[1] }.map(String.init))
            isDone = lines.last == "done"
            #expect(isDone || client.wasKilled, "seed \(seed): the client ended early: \(lines)")
            guard isDone || client.wasKilled else { return }
        }
        // A line may be lost with its process. Then its process has recorded the outcome, or a later one receives it. The
        // outcomes that no process has received are missing here.
        let reported = try FileManager.default.contentsOfDirectory(atPath: "\(home)/reported")
        #expect(Set(reported).union(outcomes).count == count, "seed \(seed): an outcome is missing")
        for number in 1...count {
            let contents = FileManager.default.contents(atPath: "\(home)/files/\(number)")
            #expect(
                contents == ScriptedService.content("https://example.org/\(number)"), "seed \(seed): file \(number)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(home)/files").count == count)
        #expect(fetches.count == count && fetches.values.allSatisfy { $0 == 1 }, "seed \(seed): \(fetches)")
        #expect(killCount == Self.killsOfSeed)
    }
}

/// A process of the test's client.
private final class ClientProcess {
    private let process = Process()
    private let output: Pipe
    private(set) var wasKilled = false

    init(_ arguments: [String]) throws {
        process.executableURL = try Self.executable
        process.arguments = arguments
        output = try ProcessStart.alone { [process] in
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            return output
        }
    }

    /// The executable that is built together with the tests.
    private static var executable: URL {
        get throws {
            let own = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
            let candidates =
                [own.deletingLastPathComponent()] + Bundle.allBundles.map { $0.bundleURL.deletingLastPathComponent() }
            let url = candidates.map { $0.appending(path: "background-client") }.first {
                FileManager.default.isExecutableFile(atPath: $0.path)
            }
            return try #require(url, "the client was not built")
        }
    }

    var isRunning: Bool { process.isRunning }

    /// Kills the process, which can't save anything.
    func kill() {
        wasKilled = true
        Foundation.kill(process.processIdentifier, SIGKILL)
    }

    /// Waits for the end, and returns the lines of its output.
    func waitForLines() -> [String] {
        let data = (try? output.fileHandleForReading.readToEnd()) ?? Data()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
