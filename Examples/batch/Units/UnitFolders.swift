internal import Foundation

/// The places of the files that belong to units.
struct UnitFolders: Sendable {
    /// The directory that `batch split` has written.
    let units: URL
    /// The directory for files and reports.
    let output: URL
    /// Whether the files of a unit are stored in an archive.
    let isPacked: Bool

    /// Creates the directory of the reports, and with it the output directory.
    func create() throws(Misuse) {
        do {
            try FileManager.default.createDirectory(at: reports, withIntermediateDirectories: true)
        } catch {
            throw Misuse("\(reports.path) cannot be created: \(error.localizedDescription)")
        }
    }

    func manifest(of unit: UnitIndex.Unit) -> URL { units.appending(path: unit.file) }

    /// The report of a unit, which exists as soon as the unit is complete.
    func report(of unit: UnitIndex.Unit) -> URL { reports.appending(path: "\(unit.unit).json") }

    /// The report that is being written, or that a killed process has not completed.
    func unfinishedReport(of unit: UnitIndex.Unit) -> URL { reports.appending(path: ".\(unit.unit).json") }

    /// The results of a unit that has no report yet.
    func journal(of unit: UnitIndex.Unit) -> URL { reports.appending(path: ".\(unit.unit).jsonl") }

    /// The path of the file by which a process locks a lane.
    func lock(ofLane lane: Int) -> String { reports.appending(path: ".lane-\(lane).lock").path }

    /// The archive of a unit that has a report.
    func archive(of unit: UnitIndex.Unit) -> URL { output.appending(path: "\(unit.unit).tar") }

    /// The archive of a unit that has no report yet.
    func unfinishedArchive(of unit: UnitIndex.Unit) -> URL { output.appending(path: ".\(unit.unit).tar") }

    /// The directory to which the files of a unit are downloaded.
    func files(of unit: UnitIndex.Unit) -> URL {
        isPacked ? output.appending(path: ".\(unit.unit)", directoryHint: .isDirectory) : output
    }

    private var reports: URL { output.appending(path: "done", directoryHint: .isDirectory) }
}
