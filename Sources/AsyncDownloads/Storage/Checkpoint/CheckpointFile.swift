/// A checkpoint file as it was found on disk.
struct CheckpointFile: Sendable {
    let handle: OpenFile
    let checkpoint: Checkpoint
    /// The rollback behind it, where it counts.
    let rollback: CheckpointRollback?
    /// The marks behind it, whether they count or not.
    let marks: [(slot: Int, mark: CheckpointMark)]
    /// Where in the file the rollback is; the marks are one block behind.
    let rollbackOffset: Int64

    /// What the checkpoint claims without its marks.
    var received: IntervalSet { rollback?.received ?? checkpoint.received }

    /// Opens and reads the file at `path`; nil where there is none.
    ///
    /// A file that must not be trusted is a result of its own and closed again: torn, edited, of another format, a
    /// symbolic link, or one that others can reach. Failures of the disk are thrown.
    ///
    /// - Parameter owner: Tells which files are this user's.
    static func read(
        _ path: String, on disk: any FileSystem, ownedBy owner: FileOwner
    ) throws(FileFailure) -> Result<CheckpointFile, Checkpoint.Unreadable>? {
        let handle: OpenFile
        do {
            handle = try disk.open(path, .existing)
        } catch let error where error.kind == .missing {
            return nil
        } catch let error where error.kind == .unusablePath {
            return .failure(.corrupt)
        } catch let error where error.kind == .denied {
            // Somebody else's, which only its owner may read.
            guard let information = try disk.information(at: path), try !owner.isPrivate(information) else {
                throw error
            }
            return .failure(.corrupt)
        }
        do {
            let information = try disk.information(of: handle)
            guard try owner.isPrivate(information), information.size <= Checkpoint.maximumSize else {
                disk.close(handle)
                return .failure(.corrupt)
            }
            let bytes = try contents(of: handle, count: Int(information.size), on: disk)
            let (checkpoint, end) = try Checkpoint.decode(bytes)
            let rollback = CheckpointRollback.last(
                in: bytes.dropFirst(end).prefix(Checkpoint.blockSize), behind: checkpoint.generation)
            // One that claims more than the record was not written here.
            if let rollback, rollback.received.upperBound > checkpoint.received.upperBound {
                throw Checkpoint.Unreadable.corrupt
            }
            return .success(
                CheckpointFile(
                    handle: handle, checkpoint: checkpoint, rollback: rollback,
                    marks: CheckpointMark.all(in: bytes.dropFirst(end + Checkpoint.blockSize)),
                    rollbackOffset: Int64(end)))
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
            mark.session == session && mark.generation == checkpoint.generation
                && mark.rollback == rollback?.number ?? 0 && mark.received.upperBound <= limit
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
