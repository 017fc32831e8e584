internal import Foundation
internal import TestSupport
internal import Testing

@testable internal import batch

extension Folder {
    /// Divides a manifest into units, and returns their index.
    @discardableResult
    func split(_ manifest: String, _ options: String..., to units: String = "units") async throws -> UnitIndex {
        try Data(manifest.utf8).write(to: url("urls.txt"))
        let end = try await CommandRun(["split", "-i", "urls.txt", "-o", units] + options, in: self).end()
        try #require(end.status == 0, "\(end.error)")
        return try UnitIndex(of: url(units))
    }

    /// Starts a run over the units.
    func units(_ options: String..., environment: [String: String] = [:]) throws -> CommandRun {
        try CommandRun(["units", "units", "-d", "out"] + options, in: self, environment: environment)
    }

    /// Returns the elements of all reports by the names of their units.
    func reports() throws -> [String: [[String: Any]]] {
        var reports: [String: [[String: Any]]] = [:]
        for name in try names("out/done") where !name.hasPrefix(".") {
            reports[name] = try #require(try report(name)["downloads"] as? [[String: Any]])
        }
        return reports
    }

    /// Returns a report.
    func report(_ name: String) throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: Data(contentsOf: url("out/done/\(name)")))
        return try #require(value as? [String: Any])
    }

    /// Returns the names in an archive, as tar(1) prints them, in its order.
    func members(of archive: String) throws -> [String] {
        let lines = String(decoding: try tar(["-tf", url(archive).path]), as: UTF8.self)
        return lines.split(separator: "\n").map(String.init)
    }

    /// Returns the bytes of a file in an archive.
    func bytes(of member: String, in archive: String) throws -> [UInt8] {
        Array(try tar(["-xOf", url(archive).path, "--", member]))
    }

    private func tar(_ arguments: [String]) throws -> Data {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["tar"] + arguments
        let pipe = try ProcessStart.alone {
            let pipe = Pipe()
            process.standardOutput = pipe
            try process.run()
            return pipe
        }
        let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return data
    }
}
