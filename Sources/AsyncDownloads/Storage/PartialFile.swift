/// An open partial file.
struct PartialFile: Sendable {
    /// The part of its name that says who owns it.
    var claim: PartialNames.Claim
    let handle: OpenFile
    /// What it was when it was opened: its size changes, its identity does not.
    let information: FileInformation
}

extension PartialFile {
    /// Makes an empty file of a new name.
    static func make(_ names: PartialNames, on disk: any FileSystem) throws(FileFailure) -> PartialFile {
        let claim = PartialNames.Claim.new()
        let path = names.path(claim, .partial)
        let handle = try disk.open(path, .new)
        do {
            return PartialFile(claim: claim, handle: handle, information: try disk.information(of: handle))
        } catch {
            disk.close(handle)
            try? disk.remove(path)
            throw error
        }
    }

    /// Makes sure that the file still has the name that only its owner gives it.
    func checkOwnership(_ names: PartialNames, on disk: any FileSystem) throws(FileFailure) {
        if try disk.information(at: names.path(claim, .partial))?.isSameFile(as: information) == true { return }
        guard try disk.information(at: names.directory) != nil else {
            throw FileFailure(
                .missing, errno: 0, operation: "go on with", name: handle.name, reason: "its directory is gone")
        }
        throw .takenOver(handle)
    }

    /// The length from which on space is set aside; for small files the call costs more than scattered blocks do.
    static let reservedLength: Int64 = 1 << 20

    /// Makes room for `length` bytes before the first is written (rule 44).
    func reserve(_ length: Int64, _ names: PartialNames, on disk: any FileSystem) throws(FileFailure) {
        if let available = try? disk.availableSpace(in: names.directory), available < length {
            throw FileFailure(
                .noSpace, errno: 0, operation: "set space aside for", name: handle.name,
                reason: "\(length) bytes are needed and \(available) available")
        }
        guard length >= Self.reservedLength else { return }
        do {
            try disk.preallocate(handle, length: length)
        } catch let error where error.kind == .noSpace {
            throw error
        } catch {
            // An optimisation where it is possible.
        }
    }
}
