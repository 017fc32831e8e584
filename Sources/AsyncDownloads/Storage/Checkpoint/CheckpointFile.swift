/// A checkpoint file as read from disk.
struct CheckpointFile: Sendable {
    let handle: OpenFile
    /// The path of the file, which differs from ``PartialNames/checkpoint`` if another user's file has that name.
    var path: String
    let checkpoint: Checkpoint
    /// The last rollback of the checkpoint, or nil if it was never rolled back.
    let rollback: CheckpointRollback?
    /// The readable marks, including those that do not apply to this checkpoint or session.
    let marks: [(slot: Int, mark: CheckpointMark)]
    /// The offset of the rollback block in the file.
    ///
    /// The mark block follows it.
    let rollbackOffset: Int64

    /// The intervals that the checkpoint claims, without its marks.
    var received: IntervalSet { rollback?.received ?? checkpoint.received }

    /// Opens and reads the file at `path`; returns nil if the file does not exist.
    ///
    /// A file that must not be trusted is closed and reported as a failed `Result`: a torn or edited record, another
    /// format, a symbolic link, or a file that may not be this user's. Errors of the disk are thrown.
    ///
    /// - Parameter owner: Decides whether a file belongs to this user.
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
            // Only a file of another user may be unreadable.
            guard let information = try disk.information(at: path), try !owner.isPrivate(information) else {
                throw error
            }
            return .failure(.corrupt)
        }
        let bytes: [UInt8]
        do throws(FileFailure) {
            let information = try disk.information(of: handle)
            guard try owner.isPrivate(information), information.size <= Checkpoint.maximumSize else {
                disk.close(handle)
                return .failure(.corrupt)
            }
            bytes = try disk.contents(of: handle, count: Int(information.size))
        } catch {
            disk.close(handle)
            throw error
        }
        do throws(Checkpoint.Unreadable) {
            return .success(try CheckpointFile(bytes, handle, path))
        } catch {
            disk.close(handle)
            return .failure(error)
        }
    }

    /// Returns the applicable mark with the most bytes, and its slot.
    ///
    /// A mark applies only to the checkpoint generation and the rollback that it names, and only in the session that
    /// wrote it. If the partial file is shorter than a mark says, bytes were lost although the machine kept running, so
    /// the mark is ignored.
    func mark(of partial: FileInformation, session: String?) -> (slot: Int, mark: CheckpointMark)? {
        let limit = min(partial.size, checkpoint.representation.length ?? .max)
        return marks.filter { _, mark in
            mark.session == session && mark.generation == checkpoint.generation
                && mark.rollback == rollback?.number ?? 0 && mark.received.upperBound <= limit
        }.max { $0.mark.received.count < $1.mark.received.count }
    }
}

extension CheckpointFile {
    private init(_ bytes: [UInt8], _ handle: OpenFile, _ path: String) throws(Checkpoint.Unreadable) {
        let (checkpoint, end) = try Checkpoint.decode(bytes)
        let rollback = CheckpointRollback.last(
            in: bytes.dropFirst(end).prefix(Checkpoint.blockSize), behind: checkpoint.generation)
        // The store never writes a rollback that claims more than its record.
        if let rollback, rollback.received.upperBound > checkpoint.received.upperBound {
            throw .corrupt
        }
        self.init(
            handle: handle, path: path, checkpoint: checkpoint, rollback: rollback,
            marks: CheckpointMark.all(in: bytes.dropFirst(end + Checkpoint.blockSize)), rollbackOffset: Int64(end))
    }
}
