/// Choosing a name for a file whose request did not give it.
extension Placement {
    /// Puts the file, or a copy of it, into a directory under `name`, or under the next number of it.
    ///
    /// - Returns: The path that has the file's bytes now.
    mutating func put(
        _ source: String, in directory: String, name: String, isCallers: Bool, for target: PlacementTarget
    ) throws(FileFailure) -> String {
        try target.names.withTurn(name, in: directory) { () throws(FileFailure) in
            let path = PartialNames.join(directory, name)
            if isCallers, target.isFree(path), try mayReplace(path, for: target) {
                try replace(path, by: source)
                target.names.give(path, to: target.resource)
                return path
            }
            return try putNumbered(source, directory, name, isCallers, target)
        }
    }

    /// Whether a caller's name may replace what is at `path`.
    func mayReplace(_ path: String, for target: PlacementTarget) throws(FileFailure) -> Bool {
        guard let present = try disk.information(at: path) else { return true }
        guard present.kind == .regular || present.kind == .symbolicLink, !target.names.mayBeForgotten(path) else {
            return false
        }
        return try !isOfAnotherResource(path, present, target)
    }

    /// Whether this process has placed the file at `path` for another resource.
    private func isOfAnotherResource(
        _ path: String, _ present: FileInformation, _ target: PlacementTarget
    ) throws(FileFailure) -> Bool {
        for other in target.names.others(than: target.resource, at: path) {
            // By another spelling it is the same file only where the volume takes both for one name.
            if try disk.information(at: other)?.isSameFile(as: present) == true { return true }
        }
        return false
    }

    private mutating func putNumbered(
        _ source: String, _ directory: String, _ name: String, _ isCallers: Bool, _ target: PlacementTarget
    ) throws(FileFailure) -> String {
        var numbering = target.names[name, directory]
        defer { target.names[name, directory] = numbering }
        let resource = target.resource.hashValue
        let signature = try signature(of: file.handle)
        if let path = numbering.given[resource] {
            // The resource's own file of this process, which the caller's name stands for.
            if isCallers {
                try replace(path, by: source)
                return path
            }
            if try isSame(asFileAt: path, signature) { return try keep(path, inPlaceOf: source) }
        }
        for path in numbering.others[signature] ?? [] where try isSame(asFileAt: path, signature) {
            numbering.others[signature]?.removeAll { $0 == path }
            numbering.given[resource] = path
            return try keep(path, inPlaceOf: source)
        }
        while true {
            let candidate = numbering.next == 0 ? name : FileName.numbered(name, numbering.next)
            let path = PartialNames.join(directory, candidate)
            numbering.next += 1
            guard target.isFree(path) else { continue }
            if let present = try disk.information(at: path) {
                guard present.kind == .regular, try !isOfAnotherResource(path, present, target) else { continue }
                if candidate == interruptedName, present.size == 0, try disk.information(of: file.handle).size > 0 {
                    // The reservation of an earlier process, for this very file.
                    try replace(path, by: source)
                    numbering.given[resource] = path
                    return path
                }
                guard let other = try? self.signature(ofFileAt: path) else { continue }
                if other == signature, try isSame(asFileAt: path, signature) {
                    numbering.given[resource] = path
                    return try keep(path, inPlaceOf: source)
                }
                numbering.others[other, default: []].append(path)
                continue
            }
            willTakeName(candidate)
            do throws(FileFailure) {
                try disk.rename(source, toUnused: path)
            } catch {
                numbering.next -= 1
                // Another process was quicker.
                guard error.kind == .exists, try disk.information(at: path) != nil else { throw error }
                continue
            }
            noteTaken(source)
            numbering.given[resource] = path
            if numbering.next == 1 { target.names.give(path, to: target.resource) }
            return path
        }
    }

    /// Uses the file that is at `path` already, which has the same bytes.
    private mutating func keep(_ path: String, inPlaceOf source: String) throws(FileFailure) -> String {
        if source != ownPath { try? disk.remove(source) }
        return path
    }

    /// Whether the file at `path` has the same bytes as the one that is placed.
    private func isSame(asFileAt path: String, _ signature: DirectoryNames.Signature) throws(FileFailure) -> Bool {
        guard let handle = try? disk.open(path, .reading) else { return false }
        defer { disk.close(handle) }
        guard try disk.information(of: handle).kind == .regular, try self.signature(of: handle) == signature else {
            return false
        }
        let length = 1 << 20
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * length, alignment: 4096)
        defer { buffer.deallocate() }
        let (ours, theirs) = (
            UnsafeMutableRawBufferPointer(rebasing: buffer[..<length]),
            UnsafeMutableRawBufferPointer(rebasing: buffer[length...])
        )
        var position: Int64 = 0
        while position < signature.size {
            let count = try read(ours, from: file.handle, at: position)
            guard count > 0, try read(theirs, from: handle, at: position) == count,
                ours[..<count].elementsEqual(theirs[..<count])
            else { return false }
            position += Int64(count)
        }
        return true
    }

    private func signature(ofFileAt path: String) throws(FileFailure) -> DirectoryNames.Signature {
        let handle = try disk.open(path, .reading)
        defer { disk.close(handle) }
        return try signature(of: handle)
    }

    private func signature(of handle: OpenFile) throws(FileFailure) -> DirectoryNames.Signature {
        let size = try disk.information(of: handle).size
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 4096)
        defer { buffer.deallocate() }
        var hasher = Hasher()
        for offset in [0, max(0, size - Int64(buffer.count))] {
            let count = try read(buffer, from: handle, at: offset)
            hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
        return .init(size: size, ends: hasher.finalize())
    }

    /// Reads until the buffer is full or the file ends.
    private func read(
        _ buffer: UnsafeMutableRawBufferPointer, from handle: OpenFile, at offset: Int64
    ) throws(FileFailure) -> Int {
        var filled = 0
        while filled < buffer.count {
            let count = try disk.read(
                into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]), from: handle,
                at: offset + Int64(filled))
            if count == 0 { break }
            filled += count
        }
        return filled
    }
}
