internal import Foundation

#if canImport(CryptoKit)
internal import CryptoKit
#else
internal import Crypto
#endif

/// A directory of units that is being written, in one pass over the items.
///
/// It has a hidden name until it is complete.
struct UnitWriter {
    /// A unit that has room for more lines.
    private struct OpenUnit {
        let unit: String
        var count = 0
        var digest = SHA256()
        var buffer: [UInt8] = []
    }

    /// The number of bytes that each of up to 1,024 open units keeps in memory.
    private static let bufferLength = 1 << 12

    private let directory: URL
    /// The permissions of the empty directory that is replaced; nil if there was none.
    private let replacedMode: mode_t?
    private let temporary: URL
    private let grouping: SplitCommand.Grouping
    private let lineCount: Int
    private var lanes = LaneNumbers()
    private var open: [Int: OpenUnit] = [:]
    private var units: [UnitIndex.Unit] = []
    private var unitCount = 0

    /// Creates the directory with its hidden name.
    init(_ path: String, by grouping: SplitCommand.Grouping, lineCount: Int) throws(Misuse) {
        directory = URL(fileURLWithPath: path, isDirectory: true)
        (self.grouping, self.lineCount) = (grouping, lineCount)
        let number = String(UInt64.random(in: .min ... .max), radix: 36)
        temporary = directory.deletingLastPathComponent().appending(
            path: ".\(directory.lastPathComponent).\(number).tmp", directoryHint: .isDirectory)
        do {
            try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: true)
        } catch {
            throw Misuse("\(path) cannot be created: \(error.localizedDescription)")
        }
        var status = stat()
        let mode = lstat(directory.path, &status) == 0 ? status.st_mode & 0o7777 : nil
        // The rename at the end couldn't replace a link, a mount point, or a directory with files.
        guard rmdir(directory.path) == 0 || errno == ENOENT else {
            let reason = String(cString: strerror(errno))
            rmdir(temporary.path)
            throw Misuse("\(path) can't be replaced (\(reason)); choose a new directory for the units")
        }
        replacedMode = mode
    }

    /// Adds an item to the unit of its lane.
    mutating func add(_ item: Item) throws(Misuse) {
        let lane = lane(of: item)
        var unit = open.removeValue(forKey: lane) ?? nextUnit()
        let lines = Array(item.manifestLines(includingSecrets: true).utf8)
        unit.count += 1
        unit.digest.update(data: lines)
        unit.buffer += lines
        if unit.buffer.count >= Self.bufferLength { try flush(&unit) }
        guard unit.count == lineCount else {
            open[lane] = unit
            return
        }
        try close(unit, lane)
    }

    /// Completes the directory and gives it its name.
    mutating func finish() throws -> UnitIndex {
        for (lane, unit) in open { try close(unit, lane) }
        open = [:]
        let index = UnitIndex(by: grouping.rawValue, units: units.sorted { $0.unit < $1.unit })
        let file = try OutputFile(temporary.appending(path: UnitIndex.name).path, O_WRONLY | O_CREAT | O_EXCL)
        defer { file.close() }
        try file.write(index.data)
        try file.synchronize()
        try OutputFile.synchronizeDirectory(temporary.path)
        if let replacedMode { chmod(temporary.path, replacedMode) }
        guard rename(temporary.path, directory.path) == 0 else {
            throw Misuse("\(directory.path): \(String(cString: strerror(errno)))", isUsage: false)
        }
        try OutputFile.synchronizeDirectory(directory.deletingLastPathComponent().path)
        return index
    }

    /// Removes everything that was written.
    func discard() {
        try? FileManager.default.removeItem(at: temporary)
        if let replacedMode, mkdir(directory.path, replacedMode) == 0 { chmod(directory.path, replacedMode) }
    }

    /// Returns the number of the lane.
    ///
    /// The port and the scheme don't matter, because the limits of a host don't depend on them.
    private mutating func lane(of item: Item) -> Int {
        switch grouping {
        case .host: lanes.lane(ofHost: item.address.url.host()?.lowercased() ?? "")
        case .line: open.keys.first ?? unitCount
        }
    }

    private mutating func nextUnit() -> OpenUnit {
        defer { unitCount += 1 }
        let digits = String(unitCount)
        return OpenUnit(unit: String(repeating: "0", count: max(0, 6 - digits.count)) + digits)
    }

    private mutating func close(_ unit: OpenUnit, _ lane: Int) throws(Misuse) {
        var unit = unit
        try flush(&unit, isLast: true)
        units.append(
            UnitIndex.Unit(
                unit: unit.unit, lane: lane, count: unit.count, sha256: Digests.hex(unit.digest.finalize())))
    }

    private func flush(_ unit: inout OpenUnit, isLast: Bool = false) throws(Misuse) {
        let path = temporary.appending(path: "\(unit.unit).txt").path
        let file = try OutputFile(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, permissions: 0o600)
        defer { file.close() }
        try file.write(unit.buffer)
        if isLast { try file.synchronize() }
        unit.buffer = []
    }
}
