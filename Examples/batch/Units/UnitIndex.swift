internal import Foundation

/// The index of a directory of units, the file `index.json`.
struct UnitIndex: Codable, Sendable {
    /// A unit: a manifest that one process downloads.
    struct Unit: Codable, Sendable, Hashable {
        /// The name, a number of at least six digits.
        var unit: String
        /// The number of the lane, whose units one task downloads.
        var lane: Int
        /// The number of downloads.
        var count: Int
        /// The SHA-256 digest of the manifest.
        var sha256: String

        /// The name of the manifest in the directory.
        var file: String { "\(unit).txt" }
    }

    static let name = "index.json"
    private static let currentVersion = 1

    private(set) var version = currentVersion
    /// The property by which lines are divided into units: `host` or `line`.
    var by: String
    /// The number of downloads of all units.
    var count: Int
    var units: [Unit]

    init(by: String, units: [Unit]) {
        self.by = by
        self.units = units
        count = units.reduce(0) { $0 + $1.count }
    }

    /// Reads the index of a directory.
    init(of directory: URL) throws(Misuse) {
        let data: Data
        do {
            data = try Data(contentsOf: directory.appending(path: Self.name))
        } catch {
            throw Misuse("\(directory.path) is not a directory of units: \(Self.name) cannot be read")
        }
        guard let index = try? JSONDecoder().decode(Self.self, from: data), index.version == Self.currentVersion else {
            throw Misuse("\(directory.path)/\(Self.name) is not an index of this version")
        }
        guard index.isConsistent else {
            throw Misuse("\(directory.path)/\(Self.name) was damaged: it doesn't describe units of `batch split`")
        }
        self = index
    }

    /// Whether the units are such as `batch split` writes, so that their names lead to no other directory, no unit is
    /// processed twice, and each one belongs to a lane.
    private var isConsistent: Bool {
        var (names, total) = (Set<String>(), 0)
        for unit in units {
            let isNumber = unit.unit.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
            guard isNumber, 6...20 ~= unit.unit.utf8.count, names.insert(unit.unit).inserted,
                unit.lane >= 0, unit.count > 0
            else { return false }
            let (sum, overflow) = total.addingReportingOverflow(unit.count)
            guard !overflow else { return false }
            total = sum
        }
        return total == count
    }

    /// The text of the file.
    var data: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return try encoder.encode(self)
        }
    }

    /// Returns the units of a task, by lane, in the order of the lanes.
    func lanes(ofTask task: Int, of taskCount: Int) -> [[Unit]] {
        Dictionary(grouping: units.filter { $0.lane % taskCount == task }, by: \.lane)
            .sorted { $0.key < $1.key }.map(\.value)
    }
}
