internal import ConformanceRows
internal import Foundation
internal import LoopbackServer

/// The result of one program with one row.
struct FaultTrial: Sendable, Hashable, Codable {
    let group: ScenarioGroup
    /// The name of the row.
    let row: String
    let program: Program
    let verdict: FaultVerdict
    /// The number of times that the program was run.
    let runCount: Int
    /// The number of body bytes that the server sent in all responses, including error pages.
    let sentByteCount: Int64
    /// The length of the right file.
    let fileByteCount: Int64

    /// The maximum number of runs of a program.
    static let maximumRunCount = 6

    /// Runs a program with a new server for the row; nil if the program is not installed.
    ///
    /// - Parameter limit: The time after which a run is ended.
    static func run(
        _ program: Program, _ row: Scenario, in group: ScenarioGroup, root: TemporaryDirectory, limit: Duration
    ) async throws -> FaultTrial? {
        let directory = try root.directory("fault")
        defer { directory.remove() }
        return try await LoopbackServer.withServer { server in
            server.serve(row.resource, at: path)
            let transfer = FileTransfer(url: server.url(path), path: directory.file(path).path)
            let list = directory.file("list.txt")
            try Data("\(transfer.line)\n".utf8).write(to: list)
            guard let command = program.faultCommand(transfer, list: list.path, directory: directory.url.path) else {
                return nil
            }
            var runCount = 0
            var status: Int32?
            repeat {
                runCount += 1
                status = try await CommandRun.status(of: command, in: directory, limit: limit)
            } while status != nil && status != 0
                && row.permitsRun(after: runCount, requestCount: server.requests(at: path).count)
            return FaultTrial(
                group: group, row: row.name, program: program,
                verdict: FaultVerdict(
                    status: status, hasRightFile: row.rightBody.isContent(of: transfer.path),
                    expectsFile: row.expectsFile),
                runCount: runCount, sentByteCount: server.bodyBytesSent(at: path),
                fileByteCount: row.rightBody.length)
        }
    }

    /// The path to which the redirects of the rows point.
    private static let path = "object"
}

extension Resource.Body {
    /// Returns whether a file exists and has exactly these bytes.
    fileprivate func isContent(of path: String) -> Bool {
        guard let data = FileManager.default.contents(atPath: path), data.count == length else { return false }
        switch self {
        case .content(let content): return data.withUnsafeBytes { content.matches($0, at: 0) }
        case .bytes(let bytes): return data == Data(bytes)
        }
    }
}
