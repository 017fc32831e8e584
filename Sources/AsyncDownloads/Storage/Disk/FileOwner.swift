/// Tells which files in a directory this process, or an earlier one of the same user, may have made.
///
/// A file has the owner that a file just created there has. That is not always the user of the process: network file
/// systems replace the superuser, and FAT and CIFS give all files of a volume one owner and one mode.
struct FileOwner: Sendable {
    let disk: any FileSystem
    /// The names of a site in the directory, for a file that is created to find out.
    let names: PartialNames

    init(disk: any FileSystem, names: PartialNames) {
        self.disk = disk
        self.names = names
    }

    /// Tells of files in a directory that need not hold any site.
    init(disk: any FileSystem, directory: String) {
        self.init(disk: disk, names: PartialNames(directory: directory, stem: ".probe.\(hexadecimal(UInt64(0)))"))
    }

    /// Whether it is a regular file of this user that nobody else can write, nor reach by another name.
    ///
    /// - Throws: Where it cannot be found out, such as on a full disk: that must not pass for a file of somebody else.
    func isPrivate(_ information: FileInformation) throws(FileFailure) -> Bool {
        guard information.kind == .regular, information.linkCount == 1 else { return false }
        return try isOwn(information)
    }

    /// Whether it belongs to this user, and others can write it no more than files that this process creates.
    func isOwn(_ information: FileInformation) throws(FileFailure) -> Bool {
        let writable = information.permissions & 0o022 & ~disk.ordinaryPermissions
        if information.owner == disk.user, writable == 0 { return true }
        let new: FileInformation
        do {
            new = try newFile()
        } catch let error where error.kind == .denied {
            // Who can create nothing here has created nothing here.
            return false
        }
        return information.owner == new.owner && writable & ~new.permissions == 0
    }

    /// What a file is like that is created here.
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
