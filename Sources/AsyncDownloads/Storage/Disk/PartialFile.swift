/// An open partial file.
struct PartialFile: Sendable {
    /// The part of its name that says who owns it.
    var claim: PartialNames.Claim
    let handle: OpenFile
    /// What it was when it was opened: its size changes, its identity does not.
    let information: FileInformation
    let volume: VolumeKind
}

extension PartialFile {
    /// Makes an empty file of a new name.
    static func make(_ names: PartialNames, on disk: any FileSystem) throws(FileFailure) -> PartialFile {
        let claim = PartialNames.Claim.new()
        let path = names.path(claim, .partial)
        let handle = try disk.open(path, .new)
        do {
            return PartialFile(
                claim: claim, handle: handle, information: try disk.information(of: handle),
                volume: disk.volumeKind(of: handle))
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

    /// Refuses a length for which the volume has no room, before a byte is written (rule 44).
    func checkSpace(for length: Int64, _ names: PartialNames, on disk: any FileSystem) throws(FileFailure) {
        guard let available = try? disk.availableSpace(in: names.directory), available < length else { return }
        throw FileFailure(
            .noSpace, errno: 0, operation: "allocate blocks for", name: handle.name,
            reason: "\(length) bytes are needed and \(available) available")
    }

    /// Allocates blocks for the bytes of `range` where the volume can.
    func allocate(_ range: Range<Int64>, on disk: any FileSystem) throws(FileFailure) {
        // In memory, blocks that are never written would be taken from everybody.
        guard volume != .memory else { return }
        do {
            try disk.preallocate(handle, range)
        } catch let error where error.kind == .noSpace {
            throw error
        } catch {
            // An optimization where it is possible.
        }
    }
}
