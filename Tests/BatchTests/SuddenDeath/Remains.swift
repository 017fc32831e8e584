internal import Foundation
internal import LoopbackServer
internal import Testing

@testable internal import AsyncDownloads

/// What a killed process has left in a directory, read the way the next process reads it.
struct Remains {
    /// What the next process may go on from.
    private(set) var received = IntervalSet()

    /// Checks that nothing is claimed which is not there, byte for byte.
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
            // The first one, which claims nothing, is not renamed into its place: nothing is lost with it.
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
        for claim in claims {
            try #require(claim.upperBound <= file.count, "rule 38: more is recorded than there is")
            for range in claim.ranges {
                let isRight = file.withUnsafeBytes { bytes in
                    let claimed = bytes[Int(range.lowerBound)..<Int(range.upperBound)]
                    return content.matches(UnsafeRawBufferPointer(rebasing: claimed), at: range.lowerBound)
                }
                #expect(isRight, "the bytes \(range) are not those of the object")
            }
            if claim.count > received.count { received = claim }
        }
    }
}
