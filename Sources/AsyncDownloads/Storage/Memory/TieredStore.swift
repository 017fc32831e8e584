internal import Foundation

/// A store that keeps unfinished files on disk, and unfinished in-memory bodies in memory while there is space.
///
/// A request is served from wherever the bytes are: a file can continue a body that was in memory, and an in-memory
/// body can continue one that had to move to disk.
package struct TieredStore: PartialStore {
    let disk: any PartialStore
    let bodies: PartialBodyStore
    /// The absolute path of the directory for bodies that have to leave memory.
    let spillDirectory: String

    package init(disk: any PartialStore, bodies: PartialBodyStore, spillDirectory: String) {
        self.disk = disk
        self.bodies = bodies
        self.spillDirectory = spillDirectory
    }

    package func open(_ location: PartialLocation) throws(DownloadError) -> any Partial {
        if location.medium == .memory {
            if let body = bodies.take(location) { return MemoryPartial(body, store: self, location: location) }
            // A body is not written to disk if only its secret headers distinguish it from another user's.
            guard location.mayBeOnDisk, disk.holds(location) else {
                return MemoryPartial(nil, store: self, location: location)
            }
            let partial = try disk.open(location.onDisk)
            return MemoryPartial(partial, finding: partial.finding, store: self, location: location)
        }
        let partial = try disk.open(location)
        guard partial.finding == .nothing, let body = bodies.take(location) ?? spilledBody(location) else {
            return partial
        }
        do throws(DownloadError) {
            try partial.fill(from: body)
        } catch {
            // The body is kept until the disk has space; this download starts without it.
            bodies.keep(body, of: location.spilled(to: spillDirectory), on: disk)
            return partial
        }
        return MemoryPartial(
            partial, finding: .bytes(body.representation, body.received), store: self, location: location)
    }

    package func openNew(_ location: PartialLocation) throws(DownloadError) -> (any Partial)? {
        guard !bodies.holds(location) else { return nil }
        if location.medium == .memory {
            guard !location.mayBeOnDisk || !disk.holds(location) else { return nil }
            return MemoryPartial(nil, store: self, location: location)
        }
        return disk.holds(location.spilled(to: spillDirectory)) ? nil : try disk.openNew(location)
    }

    package func refusal(of path: String) -> DownloadError? { disk.refusal(of: path) }

    package func holds(_ location: PartialLocation) -> Bool { disk.holds(location) }

    package func place(
        copyOf path: String, at targets: [PlacementTarget], for location: PartialLocation
    ) -> [Result<String, DownloadError>] {
        disk.place(copyOf: path, at: targets, for: location.onDisk)
    }

    package func unfinished(
        in directory: String, trustsDestinations: Bool
    ) throws(DownloadError) -> [UnfinishedPartial] {
        try disk.unfinished(in: directory, trustsDestinations: trustsDestinations)
    }

    package func importFile(
        at location: PartialLocation, _ open: (any FileSystem) throws(DownloadError) -> ImportedFile
    ) throws(DownloadError) -> (unfinished: UnfinishedPartial, file: ImportedFile) {
        try disk.importFile(at: location.onDisk, open)
    }

    package func removeLeftovers(
        in directory: String, writtenBefore date: HTTPDate
    ) throws(DownloadError) -> RemovedLeftovers {
        try disk.removeLeftovers(in: directory, writtenBefore: date)
    }

    package func removeBodies(in directory: String, writtenBefore date: HTTPDate, exceeding byteLimit: Int64) {
        disk.removeBodies(in: directory, writtenBefore: date, exceeding: byteLimit)
    }

    package func removeImported(_ file: ImportedFile) { disk.removeImported(file) }

    package func unfinished(at location: PartialLocation) -> UnfinishedPartial? { disk.unfinished(at: location.onDisk) }

    /// Returns a body that had to leave memory, and removes it from disk; nil if no such body exists.
    private func spilledBody(_ location: PartialLocation) -> MemoryBody? {
        let spilled = location.spilled(to: spillDirectory)
        guard disk.holds(spilled), let partial = try? disk.open(spilled) else { return nil }
        guard case .bytes(let representation, let received) = partial.finding,
            let bytes = try? partial.contents(length: received.prefixEnd)
        else {
            partial.close()
            return nil
        }
        partial.discard()
        var body = MemoryBody(representation)
        bytes.withUnsafeBytes { body.write($0, at: 0) }
        return body
    }
}

extension PartialLocation {
    /// The same location, with the bytes on disk.
    var onDisk: Self {
        var location = self
        location.medium = .disk
        return location
    }

    /// Returns the location of bodies of the same resource that have to leave memory, regardless of their destination.
    func spilled(to directory: String) -> Self {
        var location = onDisk
        location.directory = directory
        location.baseName = Self.spilledName
        location.request.destination = ""
        location.request.choosesName = false
        return location
    }

    /// Whether an in-memory body may be on disk: without an account, nothing there would identify its user.
    var mayBeOnDisk: Bool { secretHeaders.isEmpty || request.account != nil }

    /// The base name of the hidden files of such bodies.
    static let spilledName = "body"
}
