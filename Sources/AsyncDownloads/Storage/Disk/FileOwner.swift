/// A check of whether files in a directory may have been created by this process, or an earlier one of the same user.
///
/// Such a file has the same owner as a new file in the directory. The owner is not always the user of the process:
/// network file systems map the superuser to another user, and FAT and CIFS give all files of a volume one owner and
/// one mode.
struct FileOwner: Sendable {
    let disk: any FileSystem
    /// The names for a test file that is created in the directory to determine its owner.
    let names: PartialNames

    init(disk: any FileSystem, names: PartialNames) {
        self.disk = disk
        self.names = names
    }

    /// Creates a check for a directory that may contain no partial files.
    init(disk: any FileSystem, directory: String) {
        self.init(disk: disk, names: PartialNames(directory: directory, stem: ".probe.\(hexadecimal(UInt64(0)))"))
    }

    /// Returns whether the file is a regular file that ``isOwn(_:)`` accepts, and has no more names than permitted.
    ///
    /// - Parameter maximumLinkCount: The number of names that the file may have.
    /// - Throws: A failure that prevents the check, such as a full disk, because in that case the file must not be
    ///   mistaken for a file of another user.
    func isPrivate(_ information: FileInformation, maximumLinkCount: Int = 1) throws(FileFailure) -> Bool {
        guard information.kind == .regular, information.linkCount <= maximumLinkCount else { return false }
        return try isOwn(information)
    }

    /// Returns whether the file belongs to this user and other users can write to it no more than to a new file here.
    func isOwn(_ information: FileInformation) throws(FileFailure) -> Bool {
        let writable = information.permissions & 0o022 & ~disk.ordinaryPermissions
        if information.owner == disk.user, writable == 0 { return true }
        let new: FileInformation
        do {
            new = try newFile()
        } catch let error where error.kind == .denied {
            // A user who cannot create files here has not created this one.
            return false
        }
        return information.owner == new.owner && writable & ~new.permissions == 0
    }

    /// Runs `body` with `path`, and again with another path if an object other than this user's file has the first
    /// path.
    ///
    /// In a shared directory with the sticky bit, any user can create a file at a predictable name, and only its owner
    /// can remove it.
    ///
    /// - Parameter other: A path with a random name, which other users cannot predict.
    func unlessOccupied<Value>(
        _ path: String, else other: @autoclosure () -> String, _ body: (String) throws(FileFailure) -> Value
    ) throws(FileFailure) -> Value {
        do {
            return try body(path)
        } catch let error where [.exists, .denied, .unusablePath].contains(error.kind) {
            guard let information = try disk.information(at: path) else { throw error }
            if information.kind == .regular, try isOwn(information) { throw error }
            return try body(other())
        }
    }

    /// Returns information about a file that is created in the directory and removed again.
    private func newFile() throws(FileFailure) -> FileInformation {
        let path = names.path(.new(), .temporary)
        let handle = try disk.open(path, .new)
        defer {
            disk.close(handle)
            try? disk.remove(path)
        }
        return try disk.information(of: handle)
    }
}
