/// Information about a file, and the record in its extended attribute.
struct RecordedFile: Sendable, Hashable {
    let information: FileInformation
    /// The record that was written when the file was placed; the file may have been changed later.
    let record: FinishedFileRecord?
    /// Whether the record describes the file exactly, so that nothing has changed it since it was placed.
    let isUnchanged: Bool
}

extension PartialStore {
    /// Sets the attributes of a finished file.
    ///
    /// Call this function before the file is described, because its record contains the modification time. If the file
    /// system doesn't support attributes, nothing is set.
    ///
    /// - Parameter directory: The directory of the destination.
    func setAttributes(of file: ClaimedFile, _ representation: Representation?, in directory: String) {
        disk.setAttributes(attributes, of: file.handle, in: directory)
        guard attributes.usesLastModified, let text = representation?.lastModified,
            let information = try? disk.information(of: file.handle)
        else { return }
        // The year of a date in the RFC 850 form depends on the present time, at which the file was written.
        let now = HTTPDate(secondsSinceEpoch: information.modificationSeconds)
        guard let date = HTTPDate(text, now: now) else { return }
        try? disk.setModificationTime(date.secondsSinceEpoch, of: file.handle)
    }

    /// Sets the attributes of a copy of a finished file.
    func setAttributes(ofCopy copy: OpenFile, of file: OpenFile, in directory: String) {
        disk.setAttributes(attributes, of: copy, in: directory)
        guard attributes.usesLastModified, let original = try? disk.information(of: file) else { return }
        try? disk.setModificationTime(original.modificationSeconds, of: copy)
    }

    /// Writes the record of a finished file, before the file is synced and gets its name.
    ///
    /// A failure is ignored: without a record, the file is fetched again later, or proven by a checksum.
    func describe(_ file: ClaimedFile, as request: RequestRecord, _ representation: Representation?, isProven: Bool) {
        guard let resource = ResourceDigest(request), let information = try? disk.information(of: file.handle) else {
            return
        }
        let record = FinishedFileRecord(resource, representation, isProven: isProven, information)
        write(record, to: file.handle, information, file.volume, isSynced: synchronizes(file))
    }

    /// Writes the record of a finished file into a copy of the file.
    ///
    /// - Parameter isSynced: Whether the copy is synced before it gets its name.
    func describe(copy: OpenFile, of file: OpenFile, isSynced: Bool) {
        guard let original = recordedFile(file), original.isUnchanged, var record = original.record,
            let information = try? disk.information(of: copy), record.length == information.size
        else { return }
        record.modificationTime = information.modificationTime
        write(record, to: copy, information, disk.volumeKind(of: copy), isSynced: isSynced)
    }

    /// Returns the record of the finished file at `path`; nil if the file doesn't exist or its record proves nothing.
    ///
    /// The file must be a regular file of this user, have no other name (``isPrivate(_:at:)``), not be more writable than
    /// a new file there, and match its record exactly. If it was placed without a sync, the machine must not have been
    /// restarted since. Links are not followed.
    func finishedFile(at path: String) -> FinishedFileRecord? {
        recordedFile(at: path).flatMap { finishedFile($0, at: path) }
    }

    /// Returns the record of the file at `path` if it proves the contents.
    func finishedFile(_ file: RecordedFile, at path: String) -> FinishedFileRecord? {
        file.isUnchanged && isPrivate(file.information, at: path) ? file.record : nil
    }

    /// Whether the file at `path` belongs to this user, is as writable as a new file there, and has no other name, except
    /// that a file of a staged directory may have a second name in the directory that is to be replaced.
    func isPrivate(_ information: FileInformation, at path: String) -> Bool {
        let directory = PartialNames.directory(of: path)
        let maximumLinkCount = information.linkCount > 1 && StagedNames.isStaged(directory) ? 2 : 1
        let owner = FileOwner(disk: disk, directory: directory)
        return (try? owner.isPrivate(information, maximumLinkCount: maximumLinkCount)) == true
    }

    /// Returns the regular file at `path`; nil if it doesn't exist or can't be read.
    ///
    /// Links are not followed.
    func recordedFile(at path: String) -> RecordedFile? {
        guard let handle = try? disk.open(path, .reading) else { return nil }
        defer { disk.close(handle) }
        return recordedFile(handle)
    }

    /// Returns an open regular file with its record; the owner is not checked.
    func recordedFile(_ handle: OpenFile) -> RecordedFile? {
        guard let information = try? disk.information(of: handle), information.kind == .regular else { return nil }
        let record = (try? disk.attribute(FinishedFileRecord.attributeName, of: handle))
            .flatMap { FinishedFileRecord($0, inode: information.inode) }
        return RecordedFile(
            information: information, record: record,
            isUnchanged: record.map { describes($0, information, disk.volumeKind(of: handle)) } ?? false)
    }

    private func describes(
        _ record: FinishedFileRecord, _ information: FileInformation, _ volume: @autoclosure () -> VolumeKind
    ) -> Bool {
        guard record.length == information.size, record.modificationTime == information.modificationTime else {
            return false
        }
        guard let session = record.session else { return true }
        return self.session(device: information.device, volume()).map { FinishedFileRecord.SessionDigest($0) }
            == session
    }

    /// Writes the record; the record of a file that is not synced contains the session.
    private func write(
        _ record: FinishedFileRecord, to file: OpenFile, _ information: FileInformation, _ volume: VolumeKind,
        isSynced: Bool
    ) {
        var record = record
        record.session = nil
        if !isSynced {
            // Without the session, a loss of unsynced bytes could not be detected, so no record is written.
            guard let session = session(device: information.device, volume),
                let digest = FinishedFileRecord.SessionDigest(session)
            else { return }
            record.session = digest
        }
        try? disk.setAttribute(
            FinishedFileRecord.attributeName, to: record.encoded(inode: information.inode), of: file)
    }
}
