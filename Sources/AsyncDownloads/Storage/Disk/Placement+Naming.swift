/// The choice of a name for a file whose request does not give one.
extension Placement {
    /// Places the file, or a copy of it, in a directory under `name` or its next numbered variant.
    ///
    /// - Returns: The path that now has the file's bytes.
    mutating func put(
        _ source: String, in directory: String, name: String, isCallers: Bool, for target: PlacementTarget
    ) throws(FileFailure) -> String {
        try target.names.withTurn(name, in: directory) { () throws(FileFailure) in
            try checkWay(to: target)
            let path = PartialNames.join(directory, name)
            guard target.replacesFiles else {
                if target.isFree(path), try claim(path, by: source, target) { return path }
                throw FileFailure(.exists, errno: 0, operation: "create", name: name, reason: "the name is in use")
            }
            if isCallers, target.isFree(path) {
                if try disk.information(at: path) == nil, try claim(path, by: source, target) { return path }
                if try mayReplace(path, for: target) {
                    try replace(path, by: source)
                    target.names.give(path, to: target.resource, try? disk.information(at: path))
                    return path
                }
            }
            return try putNumbered(source, directory, name, isCallers, target)
        }
    }

    /// Gives the file an unused name; returns false if another process has used the name in the meantime.
    ///
    /// The name is recorded before the file exists, so that no other transfer of this process replaces the file.
    private mutating func claim(
        _ path: String, by source: String, _ target: PlacementTarget
    ) throws(FileFailure) -> Bool {
        target.names.give(path, to: target.resource, try? disk.information(at: source))
        do throws(FileFailure) {
            try disk.rename(source, toUnused: path)
        } catch {
            target.names.withdraw(path, from: target.resource)
            // Another process may have used the name first.
            guard error.kind == .exists, try disk.information(at: path) != nil else {
                if error.kind == .missing, source == ownPath { try file.checkOwnership(names, at: ownPath, on: disk) }
                throw error
            }
            return false
        }
        noteTaken(source)
        return true
    }

    /// Whether the existing file at `path` may be replaced if the caller chose the name.
    func mayReplace(_ path: String, for target: PlacementTarget) throws(FileFailure) -> Bool {
        // The file was removed since the name was checked, and another process may use the name.
        guard let present = try disk.information(at: path) else { return false }
        guard present.kind == .regular || present.kind == .symbolicLink, !target.names.mayBeForgotten(path) else {
            return false
        }
        guard !isOfAnotherResource(path, present, target) else { return false }
        // Another process may have placed the file for another resource.
        guard let record = store.recordedFile(at: path)?.record else { return target.mayReplaceUnrecorded(present) }
        return record.resource == target.recordedResource
    }

    /// Whether any process placed the file at `path` for another resource, according to the file's record.
    private func isRecordedForAnother(_ path: String, _ target: PlacementTarget) -> Bool {
        store.recordedFile(at: path)?.record.map { $0.resource != target.recordedResource } ?? false
    }

    /// Whether this process placed the file at `path` for another resource.
    private func isOfAnotherResource(_ path: String, _ present: FileInformation, _ target: PlacementTarget) -> Bool {
        // Another spelling names the same file only if the volume treats both spellings as equal.
        target.names.others(than: target.resource, at: path).contains { $0.has(path) || $0.has(present) }
    }

    private mutating func putNumbered(
        _ source: String, _ directory: String, _ name: String, _ isCallers: Bool, _ target: PlacementTarget
    ) throws(FileFailure) -> String {
        var numbering = target.names.takeNumbering(of: name, in: directory)
        let result: Result<String, FileFailure>
        do throws(FileFailure) {
            result = .success(try putNumbered(source, directory, name, isCallers, target, &numbering))
        } catch {
            result = .failure(error)
        }
        target.names.putBack(numbering, of: name, in: directory)
        return try result.get()
    }

    private mutating func putNumbered(
        _ source: String, _ directory: String, _ name: String, _ isCallers: Bool, _ target: PlacementTarget,
        _ numbering: inout DirectoryNames.Numbering
    ) throws(FileFailure) -> String {
        let resource = target.resource.hashValue
        let signature = try signature(of: file.handle)
        if let (path, file) = numbering.given[resource], target.isFree(path) {
            // This process placed the file earlier for the same resource, so a name that the caller chose replaces it.
            if isCallers, let file, try disk.information(at: path)?.isUnchanged(since: file) == true {
                try replace(path, by: source)
                return try noteGiven(path, resource, &numbering, target)
            }
            if try keep(path, inPlaceOf: source, signature) { return path }
        }
        for path in numbering.others[signature] ?? [] where target.isFree(path) {
            guard try keep(path, inPlaceOf: source, signature) else { continue }
            numbering.others[signature]?.removeAll { $0 == path }
            return try noteGiven(path, resource, &numbering, target)
        }
        while true {
            let candidate = FileName.numbered(name, numbering.next)
            let path = PartialNames.join(directory, candidate)
            guard target.isFree(path) else {
                numbering.next += 1
                continue
            }
            guard let present = try disk.information(at: path) else {
                willTakeName(candidate)
                guard try claim(path, by: source, target) else { continue }
                numbering.next += 1
                return try noteGiven(path, resource, &numbering, target)
            }
            numbering.next += 1
            guard present.kind == .regular, !isOfAnotherResource(path, present, target) else { continue }
            // Two resources that have the same bytes now may differ later.
            if isCallers, isRecordedForAnother(path, target) { continue }
            if candidate == interruptedName, present.size == 0, signature.size > 0 {
                // The empty file is the reservation that an earlier process made for this file.
                try replace(path, by: source)
            } else {
                guard let other = try comparable(path) else { continue }
                guard other == signature, try keep(path, inPlaceOf: source, signature) else {
                    numbering.others[other, default: []].append(path)
                    continue
                }
            }
            return try noteGiven(path, resource, &numbering, target)
        }
    }

    private func noteGiven(
        _ path: String, _ resource: Int, _ numbering: inout DirectoryNames.Numbering, _ target: PlacementTarget
    ) throws(FileFailure) -> String {
        let file = try disk.information(at: path)
        target.names.give(path, to: target.resource, file)
        numbering.given[resource] = (path, file)
        return path
    }

    /// Keeps the existing file at `path` if it has the same bytes and belongs to this user; otherwise returns false.
    private func keep(
        _ path: String, inPlaceOf source: String, _ signature: DirectoryNames.Signature
    ) throws(FileFailure) -> Bool {
        guard let handle = try openComparable(path) else { return false }
        defer { disk.close(handle) }
        let owner = FileOwner(disk: disk, names: names)
        guard try self.signature(of: handle) == signature, try owner.isOwn(disk.information(of: handle)),
            try holdsSameBytes(handle, count: signature.size)
        else { return false }
        // The process that wrote the file may not have synced it.
        if store.synchronizes(file) { try disk.synchronize(handle) }
        if source != ownPath { try? disk.remove(source) }
        return true
    }

    /// Whether the file has the same first `count` bytes as the file to be placed.
    private func holdsSameBytes(_ handle: OpenFile, count: Int64) throws(FileFailure) -> Bool {
        let length = 1 << 20
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * length, alignment: 4096)
        defer { buffer.deallocate() }
        let (ours, theirs) = (
            UnsafeMutableRawBufferPointer(rebasing: buffer[..<length]),
            UnsafeMutableRawBufferPointer(rebasing: buffer[length...])
        )
        var position: Int64 = 0
        while position < count {
            let read = try disk.readFully(into: ours, from: file.handle, at: position)
            guard read > 0, try disk.readFully(into: theirs, from: handle, at: position) == read,
                ours[..<read].elementsEqual(theirs[..<read])
            else { return false }
            position += Int64(read)
        }
        return true
    }

    /// Returns the signature of the file at `path`, or nil if it cannot be read.
    private func comparable(_ path: String) throws(FileFailure) -> DirectoryNames.Signature? {
        guard let handle = try openComparable(path) else { return nil }
        defer { disk.close(handle) }
        return try signature(of: handle)
    }

    /// Opens a regular file for reading; returns nil if it does not exist or must not be read.
    private func openComparable(_ path: String) throws(FileFailure) -> OpenFile? {
        let handle: OpenFile
        do {
            handle = try disk.open(path, .reading)
        } catch let error where [.missing, .denied, .unusablePath].contains(error.kind) {
            return nil
        }
        do {
            if try disk.information(of: handle).kind == .regular { return handle }
        } catch {
            disk.close(handle)
            throw error
        }
        disk.close(handle)
        return nil
    }

    private func signature(of handle: OpenFile) throws(FileFailure) -> DirectoryNames.Signature {
        let size = try disk.information(of: handle).size
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 4096)
        defer { buffer.deallocate() }
        var hasher = Hasher()
        for offset in [0, max(0, size - Int64(buffer.count))] {
            let count = try disk.readFully(into: buffer, from: handle, at: offset)
            hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
        return .init(size: size, ends: hasher.finalize())
    }
}
