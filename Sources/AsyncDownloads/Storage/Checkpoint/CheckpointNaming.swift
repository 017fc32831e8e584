/// The creation of checkpoint files under names that another user may have taken.
///
/// In a shared directory with the sticky bit, any user can create a file at a predictable name, and only its owner can
/// remove it. If the usual name is occupied, a random name is used, and the next opening finds the checkpoint by
/// listing the directory.
struct CheckpointNaming {
    let owner: FileOwner
    /// The claim of the partial file.
    let claim: PartialNames.Claim

    /// An open file and its path.
    typealias NewFile = (handle: OpenFile, path: String)

    private var disk: any FileSystem { owner.disk }
    private var names: PartialNames { owner.names }

    /// Creates the file of the first checkpoint.
    func makeFile() throws(FileFailure) -> NewFile {
        try owner.unlessOccupied(names.checkpoint, else: displaced) { path throws(FileFailure) in
            (try disk.open(path, .new), path)
        }
    }

    /// Creates the file for a new checkpoint, which gets its final name from ``install(_:over:)``.
    func makeTemporaryFile() throws(FileFailure) -> NewFile {
        let other = names.path(claim.taken(), .temporary)
        return try owner.unlessOccupied(names.path(claim, .temporary), else: other) { path throws(FileFailure) in
            // An earlier failure may have left this file; no other process gives a file this name.
            try disk.remove(path)
            return (try disk.open(path, .new), path)
        }
    }

    /// Renames a temporary file over the checkpoint, and returns the checkpoint's path.
    ///
    /// - Parameters:
    ///   - temporary: The path of the temporary file.
    ///   - current: The path of the checkpoint to replace; nil if it doesn't exist.
    func install(_ temporary: String, over current: String?) throws(FileFailure) -> String {
        try owner.unlessOccupied(current ?? names.checkpoint, else: displaced) { path throws(FileFailure) in
            try disk.rename(temporary, to: path)
            return path
        }
    }

    private var displaced: String { names.path(claim.taken(), .checkpoint) }
}
