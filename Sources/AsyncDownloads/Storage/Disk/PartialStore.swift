private import class Foundation.Thread

/// The store of the bytes of unfinished downloads.
///
/// ``PartialNames`` describes the files, ``Checkpoint`` and ``CheckpointMark`` describe their contents, and
/// ``PartialFile`` describes how one process owns them. Bodies that no subscriber requests as a file are kept in
/// ``bodies`` while no transfer uses them.
///
/// Every function may block on the disk.
package struct PartialStore: Sendable {
    let disk: any FileSystem
    let durability: Durability
    /// The identifier of the current boot of the machine, or nil if the system does not provide one.
    let bootID: String?
    /// The length up to which the bytes of a new file are kept in memory until it is complete.
    let bufferedLength: Int64
    /// The bodies of paused downloads in memory; nil if they are not kept.
    package var bodies: PartialBodyStore?
    /// The absolute path of the directory for bodies that have to leave memory.
    var spillDirectory = ""
    /// The attributes of finished files.
    var attributes = FileAttributes()
    let syncs: SyncQueue
    private let directorySyncs: DirectorySyncs

    /// Creates a store that uses the operating system's files.
    package init(durability: Durability = .powerLoss, bufferedLength: Int64 = PartialFile.bufferedLength) {
        self.init(
            disk: POSIXFileSystem(), durability: durability, bootID: POSIXFileSystem.bootID(),
            bufferedLength: bufferedLength)
    }

    /// Creates a store that uses any file system.
    ///
    /// Without a `bootID`, only bytes that a checkpoint describes survive the end of the process.
    init(disk: any FileSystem, durability: Durability, bootID: String?, bufferedLength: Int64 = 0) {
        self.disk = disk
        self.durability = durability
        self.bootID = bootID
        self.bufferedLength = bufferedLength
        syncs = SyncQueue(disk: disk)
        directorySyncs = DirectorySyncs(disk: disk)
    }

    /// Returns the error of placing a file at `path` if it would replace an object that must not be replaced.
    package func refusal(of path: String) -> DownloadError? {
        do {
            try disk.checkReplaceable(path)
            return nil
        } catch {
            // Other failures are reported by the operation that they affect.
            return error.kind == .unusablePath ? DownloadError(error) : nil
        }
    }

    /// Returns the names of the hidden files of `location`.
    func names(of location: PartialLocation) -> PartialNames { PartialNames(location, user: disk.user) }

    /// Whether bytes are synced before a checkpoint describes them.
    ///
    /// Bytes are also synced if the boot has no identifier, because a loss of unsynced bytes could not be detected.
    var synchronizes: Bool { durability == .powerLoss || bootID == nil }

    /// Returns whether the bytes of `file` are synced before a checkpoint describes them.
    ///
    /// On a network file system, bytes are always synced, because a failure to send them may be reported late or never.
    func synchronizes(_ file: ClaimedFile) -> Bool { synchronizes || file.volume == .other }

    /// Returns the session in which unsynced bytes of `file` are known to exist, or nil if that cannot be determined.
    ///
    /// The session includes the device number, because a device that is removed and attached again loses unsynced bytes
    /// while the machine keeps running.
    func session(of file: ClaimedFile) -> String? { session(device: file.information.device, file.volume) }

    func session(device: UInt64, _ volume: VolumeKind) -> String? {
        volume == .other ? nil : bootID.map { "\($0)/\(device)" }
    }

    /// Syncs a directory after irreversible changes of names, waiting some seconds for a descriptor if necessary.
    ///
    /// One sync serves all downloads that end at the same time. Descriptors become available when other downloads of
    /// this process end.
    func synchronizeDirectoryRetrying(_ directory: String) throws(FileFailure) {
        for attempt in 0..<12 {
            do {
                return try directorySyncs.synchronize(directory)
            } catch let error where error.kind == .tooManyOpenFiles {
                Thread.sleep(forTimeInterval: 0.001 * Double(1 << attempt))
            }
        }
        try directorySyncs.synchronize(directory)
    }

    /// Creates a directory and the missing directories above it.
    func makeDirectory(_ path: String) throws(FileFailure) {
        let parent = PartialNames.directory(of: path)
        do {
            try makeOneDirectory(path, in: parent)
        } catch let error where error.kind == .missing && parent != path {
            try makeDirectory(parent)
            try makeOneDirectory(path, in: parent)
        }
    }

    private func makeOneDirectory(_ path: String, in parent: String) throws(FileFailure) {
        do {
            try disk.makeDirectory(path)
            // A file is durable only if all directories above it are durable.
            if synchronizes { try disk.synchronizeDirectory(parent) }
        } catch let error where error.kind == .exists {
            // Another process has created the directory.
        }
    }
}
