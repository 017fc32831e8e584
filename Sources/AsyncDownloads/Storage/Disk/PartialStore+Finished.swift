/// A finished file of this package that nothing has changed since it was placed.
struct FinishedFile: Sendable, Hashable {
    let record: FinishedFileRecord
    let information: FileInformation
}

extension PartialStore {
    /// Records in the finished file what it contains, before it is synced and gets its name.
    ///
    /// Nothing depends on a record, so a volume that doesn't store it is no failure: the file is then fetched again, or
    /// proven by a checksum.
    func describe(_ file: ClaimedFile, as request: RequestRecord, _ representation: Representation?, isProven: Bool) {
        guard let resource = ResourceDigest(request), let information = try? disk.information(of: file.handle) else {
            return
        }
        let record = FinishedFileRecord(resource, representation, isProven: isProven, information)
        write(record, to: file.handle, information, file.volume, isSynced: synchronizes(file))
    }

    /// Records in the copy of a finished file what the file says of itself.
    ///
    /// - Parameter isSynced: Whether the copy is synced before it gets its name.
    func describe(copy: OpenFile, of file: OpenFile, isSynced: Bool) {
        guard let original = finishedFile(file), let information = try? disk.information(of: copy),
            original.record.length == information.size
        else { return }
        var record = original.record
        record.modificationTime = information.modificationTime
        write(record, to: copy, information, disk.volumeKind(of: copy), isSynced: isSynced)
    }

    /// Returns the finished file at `path`; nil if there is no file, or one that proves nothing.
    ///
    /// Only a regular file of this user counts that has no other name, that no one else can write, and whose record
    /// describes it exactly. If it was placed without a sync, the machine must not have been restarted since. Links are
    /// not followed.
    func finishedFile(at path: String) -> FinishedFile? {
        guard let handle = try? disk.open(path, .reading) else { return nil }
        defer { disk.close(handle) }
        guard let file = finishedFile(handle),
            (try? FileOwner(disk: disk, directory: PartialNames.directory(of: path)).isPrivate(file.information))
                == true
        else { return nil }
        return file
    }

    /// Returns the resource for which the file at `path` was placed, even if the file was changed later.
    ///
    /// The result is nil if there is no such file, or nothing says so. Links are not followed.
    func recordedResource(at path: String) -> ResourceDigest? {
        guard let handle = try? disk.open(path, .reading) else { return nil }
        defer { disk.close(handle) }
        guard let information = try? disk.information(of: handle), information.kind == .regular else { return nil }
        return record(of: handle, information)?.resource
    }

    private func record(of file: OpenFile, _ information: FileInformation) -> FinishedFileRecord? {
        ((try? disk.attribute(FinishedFileRecord.attributeName, of: file)) ?? nil)
            .flatMap { FinishedFileRecord($0, inode: information.inode) }
    }

    /// Returns the open file with its record if that describes it; the owner is not checked.
    private func finishedFile(_ handle: OpenFile) -> FinishedFile? {
        guard let information = try? disk.information(of: handle), information.kind == .regular,
            let record = record(of: handle, information), record.length == information.size,
            record.modificationTime == information.modificationTime
        else { return nil }
        if let session = record.session {
            guard let present = self.session(device: information.device, disk.volumeKind(of: handle)),
                session == FinishedFileRecord.SessionDigest(present)
            else { return nil }
        }
        return FinishedFile(record: record, information: information)
    }

    /// Writes the record, with the session of a file that is not synced before it gets its name.
    private func write(
        _ record: FinishedFileRecord, to file: OpenFile, _ information: FileInformation, _ volume: VolumeKind,
        isSynced: Bool
    ) {
        var record = record
        record.session = nil
        if !isSynced {
            // Otherwise, a loss of the bytes could not be detected.
            guard let session = session(device: information.device, volume),
                let digest = FinishedFileRecord.SessionDigest(session)
            else { return }
            record.session = digest
        }
        try? disk.setAttribute(
            FinishedFileRecord.attributeName, to: record.encoded(inode: information.inode), of: file)
    }
}
