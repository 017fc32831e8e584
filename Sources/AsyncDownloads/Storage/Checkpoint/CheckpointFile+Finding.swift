/// The search for a checkpoint and its partial file.
extension CheckpointFile {
    /// Reads the checkpoint that has a random name because another user's file has the usual name; nil if none is
    /// usable.
    ///
    /// - Parameters:
    ///   - listed: The names in the directory.
    ///   - owner: Decides whether a file belongs to this user.
    static func readDisplaced(
        among listed: [String], ownedBy owner: FileOwner
    ) throws(FileFailure) -> CheckpointFile? {
        var latest: CheckpointFile?
        do {
            for name in listed where owner.names.isDisplacedCheckpoint(name) {
                let path = PartialNames.join(owner.names.directory, name)
                guard case .success(let found)? = try read(path, on: owner.disk, ownedBy: owner) else { continue }
                let isLater = found.checkpoint.generation > latest?.checkpoint.generation ?? 0
                if let unused = isLater ? latest : found { owner.disk.close(unused.handle) }
                if isLater { latest = found }
            }
        } catch {
            if let latest { owner.disk.close(latest.handle) }
            throw error
        }
        return latest
    }

    /// Opens the partial file that the checkpoint names, after verifying its identity; nil if it does not exist.
    ///
    /// - Parameter list: Returns the names in the directory. It is called only if the file does not have the name that
    ///   follows from its token, because listing a directory for each of its files takes quadratic time.
    func openPartial(
        ownedBy owner: FileOwner, listing list: () throws(FileFailure) -> [String]
    ) throws(FileFailure) -> ClaimedFile? {
        if let claim = PartialNames.Claim(exclusive: checkpoint.token), let file = try open(claim, owner) {
            return file
        }
        for name in try list() {
            guard let claim = owner.names.claim(from: name), claim.token == checkpoint.token,
                let file = try open(claim, owner)
            else { continue }
            return file
        }
        return nil
    }

    private func open(_ claim: PartialNames.Claim, _ owner: FileOwner) throws(FileFailure) -> ClaimedFile? {
        let disk = owner.disk
        let path = owner.names.path(claim, .partial)
        let handle: OpenFile
        do {
            handle = try disk.open(path, .existing)
        } catch let error where error.kind == .missing || error.kind == .unusablePath {
            return nil
        } catch let error where error.kind == .denied {
            // Only a file of another user may be unreadable.
            if let information = try disk.information(at: path), try isOwn(information, owner) { throw error }
            return nil
        }
        do {
            let information = try disk.information(of: handle)
            if try isOwn(information, owner) {
                return ClaimedFile(
                    claim: claim, handle: handle, information: information, volume: disk.volumeKind(of: handle))
            }
        } catch {
            disk.close(handle)
            throw error
        }
        disk.close(handle)
        return nil
    }

    private func isOwn(_ information: FileInformation, _ owner: FileOwner) throws(FileFailure) -> Bool {
        guard information.inode == checkpoint.inode else { return false }
        return try owner.isPrivate(information)
    }
}
