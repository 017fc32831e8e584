/// The open file of a partial file, with a name that only the file's owner gives it.
struct ClaimedFile: Sendable {
    /// The part of the file's name that identifies the file and its owner.
    var claim: PartialNames.Claim
    let handle: OpenFile
    /// The file's information when it was opened.
    ///
    /// The size changes later; the identity does not.
    let information: FileInformation
    let volume: VolumeKind
}

extension ClaimedFile {
    /// Creates an empty file with a new name.
    ///
    /// - Parameter isExclusive: Whether no other process can use the file.
    static func make(
        _ names: PartialNames, isExclusive: Bool, on disk: any FileSystem
    ) throws(FileFailure) -> ClaimedFile {
        let claim = PartialNames.Claim.new(isExclusive: isExclusive)
        let path = names.path(claim, .partial)
        let handle = try disk.open(path, .new)
        do {
            return ClaimedFile(
                claim: claim, handle: handle, information: try disk.information(of: handle),
                volume: disk.volumeKind(of: handle))
        } catch {
            disk.close(handle)
            try? disk.remove(path)
            throw error
        }
    }

    /// Creates a synced copy of a file under a new name; throws if the file has fewer than `length` bytes.
    static func copy(
        of source: OpenFile, length: Int64, _ names: PartialNames, isExclusive: Bool, on disk: any FileSystem
    ) throws(FileFailure) -> ClaimedFile {
        let claim = PartialNames.Claim.new(isExclusive: isExclusive)
        let path = names.path(claim, .partial)
        let handle = try disk.duplicate(source, to: path)
        do throws(FileFailure) {
            let information = try disk.information(of: handle)
            guard information.size >= length else {
                throw FileFailure(
                    .other, errno: 0, operation: "copy", name: source.name, reason: "the file has become shorter")
            }
            try disk.synchronize(handle)
            return ClaimedFile(
                claim: claim, handle: handle, information: information, volume: disk.volumeKind(of: handle))
        } catch {
            disk.close(handle)
            try? disk.remove(path)
            throw error
        }
    }

    /// Throws if the file no longer has the name that only its owner gives it.
    ///
    /// - Parameters:
    ///   - names: The names of the hidden files.
    ///   - path: The expected path of the file; nil for the path of the partial file.
    ///   - disk: The file system.
    func checkOwnership(
        _ names: PartialNames, at path: String? = nil, on disk: any FileSystem
    ) throws(FileFailure) {
        if try disk.information(at: path ?? names.path(claim, .partial))?.isSameFile(as: information) == true { return }
        guard try disk.information(at: names.directory) != nil else {
            throw FileFailure(
                .missing, errno: 0, operation: "continue", name: handle.name, reason: "its directory no longer exists")
        }
        throw .takenOver(handle)
    }

    /// Throws if the volume has less free space than `length`; called before a byte is written (rule 44).
    func checkSpace(for length: Int64, _ names: PartialNames, on disk: any FileSystem) throws(FileFailure) {
        guard let available = try? disk.availableSpace(in: names.directory), available < length else { return }
        throw FileFailure(
            .noSpace, errno: 0, operation: "allocate blocks for", name: handle.name,
            reason: "\(length) bytes are needed, and \(available) are available")
    }

    /// Allocates blocks for `range` if the volume supports it.
    func allocate(_ range: Range<Int64>, on disk: any FileSystem) throws(FileFailure) {
        // In a file system in memory, allocated blocks reduce the memory of the whole machine.
        guard volume != .memory else { return }
        do {
            try disk.preallocate(handle, range)
        } catch let error where error.kind == .noSpace {
            throw error
        } catch {
            // The failure is ignored, because allocation is only an optimization.
        }
    }
}
