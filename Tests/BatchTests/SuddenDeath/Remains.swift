internal import Foundation
internal import LoopbackServer
internal import Testing

@testable internal import AsyncDownloads

/// The files that a killed process has left in a directory, read in the same way as by the next process.
struct Remains {
    /// The bytes from which the next process may resume.
    private(set) var received = IntervalSet()

    /// Checks that all bytes that the checkpoint and its marks claim are in the partial file and correct.
    init(in directory: URL, of content: Content) throws {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        guard let name = names.first(where: { $0.hasSuffix(PartialNames.checkpointSuffix) }) else { return }
        let bytes = Array(try Data(contentsOf: directory.appending(path: name)))
        let checkpoint: Checkpoint
        let marks: [CheckpointMark]
        do {
            let end: Int
            (checkpoint, end) = try Checkpoint.decode(bytes)
            marks = CheckpointMark.all(in: bytes.dropFirst(end + Checkpoint.blockSize)).map(\.mark)
        } catch {
            // The first checkpoint claims no bytes and is written without a rename, so a torn one loses nothing.
            for partial in names where partial.hasSuffix(".partial") {
                #expect(try Data(contentsOf: directory.appending(path: partial)).isEmpty, "\(error)")
            }
            return
        }
        guard let partial = names.first(where: { $0.contains(checkpoint.token) && $0.hasSuffix(".partial") }) else {
            return
        }
        let file = try Data(contentsOf: directory.appending(path: partial), options: .mappedIfSafe)
        let claims = marks.filter { $0.generation == checkpoint.generation }.map(\.received) + [checkpoint.received]
        var claimed = IntervalSet()
        for claim in claims {
            try #require(claim.upperBound <= file.count, "rule 38: the checkpoint claims more bytes than exist")
            for range in claim.ranges { claimed.insert(range) }
            if claim.count > received.count { received = claim }
        }
        for range in claimed.ranges {
            let isRight = file.withUnsafeBytes { bytes in
                let claimed = bytes[Int(range.lowerBound)..<Int(range.upperBound)]
                return content.matches(UnsafeRawBufferPointer(rebasing: claimed), at: range.lowerBound)
            }
            #expect(isRight, "the bytes \(range) differ from the content")
        }
    }
}
