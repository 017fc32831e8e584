/// A checkpoint file as it was found on disk.
struct CheckpointFile: Sendable {
    let handle: OpenFile
    let checkpoint: Checkpoint
    /// The marks behind it, whether they count or not.
    let marks: [(slot: Int, mark: CheckpointMark)]
    /// Where in the file the marks are.
    let markOffset: Int64

    /// Opens and reads the file at `path`; nil where there is none.
    ///
    /// A file that must not be trusted is a result of its own and closed again: torn, edited, of another format, a
    /// symbolic link, or one that others can reach. Failures of the disk are thrown.
    static func read(
        _ path: String, on disk: any FileSystem
    ) throws(FileFailure) -> Result<CheckpointFile, Checkpoint.Unreadable>? {
        let handle: OpenFile
        do {
            handle = try disk.open(path, .existing)
        } catch let error where error.kind == .missing {
            return nil
        } catch let error where error.kind == .unusablePath {
            return .failure(.corrupt)
        }
        do {
            let information = try disk.information(of: handle)
            guard information.isPrivateFile, information.size <= Checkpoint.maximumSize else {
                disk.close(handle)
                return .failure(.corrupt)
            }
            let bytes = try contents(of: handle, count: Int(information.size), on: disk)
            let (checkpoint, markOffset) = try Checkpoint.decode(bytes)
            return .success(
                CheckpointFile(
                    handle: handle, checkpoint: checkpoint, marks: CheckpointMark.all(in: bytes.dropFirst(markOffset)),
                    markOffset: Int64(markOffset)))
        } catch let error as Checkpoint.Unreadable {
            disk.close(handle)
            return .failure(error)
        } catch {
            disk.close(handle)
            throw error as? FileFailure ?? .init(.other, errno: 0, operation: "read", name: handle.name, reason: "?")
        }
    }

    /// The furthest mark that counts, with its slot.
    ///
    /// A partial file that is shorter than its mark says has lost bytes although the machine ran on; then the mark is
    /// worth nothing.
    func mark(of partial: FileInformation, session: String?) -> (slot: Int, mark: CheckpointMark)? {
        let limit = min(partial.size, checkpoint.representation.length ?? .max)
        return marks.filter { _, mark in
            mark.session == session && mark.generation == checkpoint.generation && mark.received.upperBound <= limit
        }.max { $0.mark.received.count < $1.mark.received.count }
    }

    private static func contents(
        of handle: OpenFile, count: Int, on disk: any FileSystem
    ) throws(FileFailure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let result = bytes.withUnsafeMutableBytes { buffer in
                Result { () throws(FileFailure) in
                    try disk.read(
                        into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]), from: handle,
                        at: Int64(filled))
                }
            }
            let read = try result.get()
            guard read > 0 else { break }
            filled += read
        }
        return Array(bytes[..<filled])
    }
}
