@testable internal import AsyncDownloads

extension PartialStore {
    /// Creates an unfinished download with a checkpoint that claims 300 bytes.
    func leaveUnfinished(at location: PartialLocation) throws {
        let partial = try open(location)
        try partial.begin(SampleObject.first.representation)
        try partial.write(.first, 0..<300)
        try partial.save(IntervalSet(0..<300))
        partial.close()
    }
}
