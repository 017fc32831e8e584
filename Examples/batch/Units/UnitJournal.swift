internal import AsyncDownloads
internal import Foundation

/// The results of a unit that has no report yet, in a file that survives the end of the process at any moment.
///
/// Each line is a JSON object: first the digest of the manifest, then the results, the lengths of the archive at which the
/// results before are complete, and the numbers of completed attempts.
struct UnitJournal {
    private struct Mark: Decodable {
        var manifest: String?
        var archive: Int64?
        var attempts: Int?
    }

    private let file: OutputFile
    private var length: Int64
    /// The lines that are not in the file yet.
    private var pending: [UInt8] = []
    private var places: [Int: Range<Int64>] = [:]

    /// The last result of each download.
    private(set) var results: [Int: UnitResult] = [:]
    private(set) var attemptCount = 0
    /// The length of the archive that contains the files of all results.
    private(set) var archiveLength: Int64 = 0

    /// Opens the journal at `path`, or creates it.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - manifest: The digest of the manifest; a journal of another one is an error.
    ///   - availableLength: The length of the archive, which has to contain the files of all results; nil if the unit has none.
    init(_ path: String, manifest: String, availableLength: Int64?) throws(Misuse) {
        file = try OutputFile(path, O_RDWR | O_CREAT | O_NOFOLLOW)
        length = 0
        let text = try file.contents()
        var start = text.startIndex
        var hasHead = false
        var (markedLength, attempts): (Int64, Int) = (0, 0)
        while let end = text[start...].firstIndex(of: UInt8(ascii: "\n")) {
            let (line, range) = (Data(text[start..<end]), Int64(start)..<Int64(end))
            start = end + 1
            var isEnd = availableLength == nil
            if let result = UnitResult(line) {
                (results[result.id], places[result.id]) = (result, range)
            } else if let mark = try? JSONDecoder().decode(Mark.self, from: line) {
                if let digest = mark.manifest {
                    guard digest == manifest else {
                        file.close()
                        throw Misuse("\(path) is the journal of another manifest; choose another output directory")
                    }
                    hasHead = true
                }
                markedLength = mark.archive ?? markedLength
                attempts = mark.attempts ?? attempts
                isEnd = isEnd || mark.manifest != nil || mark.archive != nil
            } else {
                // A crash of the system can leave anything.
                break
            }
            // The archive contains the files of the results only if a mark follows them.
            if isEnd { (length, archiveLength, attemptCount) = (Int64(start), markedLength, attempts) }
        }
        let lacksFiles = availableLength.map { $0 < archiveLength } ?? false
        if !hasHead || lacksFiles { (length, archiveLength, attemptCount) = (0, 0, 0) }
        for (id, place) in places where place.upperBound > length { (results[id], places[id]) = (nil, nil) }
        guard ftruncate(file.descriptor, off_t(length)) == 0, lseek(file.descriptor, 0, SEEK_END) == length else {
            throw file.failure
        }
        if length == 0 {
            var head = JSONLine()
            head.add("manifest", manifest)
            append(head)
        }
    }

    /// Adds the result of a download.
    mutating func add(_ result: UnitResult, _ line: JSONLine) {
        let start = length + Int64(pending.count)
        append(line)
        (results[result.id], places[result.id]) = (result, start..<length + Int64(pending.count) - 1)
    }

    /// Forgets the result of a download whose file doesn't exist anymore.
    mutating func forget(_ id: Int) {
        (results[id], places[id]) = (nil, nil)
    }

    /// Records that an attempt has been completed.
    mutating func countAttempt() {
        attemptCount += 1
        var mark = JSONLine()
        mark.add("attempts", attemptCount)
        append(mark)
    }

    /// Writes the lines that were added.
    ///
    /// - Parameter archiveLength: The length of the archive that contains the files of all results; nil if the unit has none.
    mutating func commit(archiveLength: Int64?) throws(Misuse) {
        if let archiveLength {
            self.archiveLength = archiveLength
            var mark = JSONLine()
            mark.add("archive", archiveLength)
            append(mark)
        }
        // After a failure, a part of the lines may be in the file.
        lseek(file.descriptor, off_t(length), SEEK_SET)
        try file.write(pending)
        length += Int64(pending.count)
        pending = []
        if archiveLength != nil { try file.synchronize() }
    }

    /// Returns the line of a result.
    func line(of id: Int) throws(Misuse) -> String {
        guard let place = places[id] else { return "" }
        var bytes = [UInt8](repeating: 0, count: place.count)
        guard pread(file.descriptor, &bytes, bytes.count, off_t(place.lowerBound)) == bytes.count else {
            throw Misuse("the journal of a unit cannot be read")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    func close() { file.close() }

    private mutating func append(_ line: JSONLine) {
        pending += Array("\(line)\n".utf8)
    }
}
