internal import Foundation

/// Keeps unfinished files on disk, and unfinished bodies that are wanted in memory there, as long as there is room.
///
/// Whoever asks next is served from wherever the bytes are: a file may go on from a body that was held in memory, and a
/// body from one that had to leave it.
package struct TieredStore: PartialStore {
    let disk: any PartialStore
    let bodies: PartialBodyStore
    /// Where bodies go that have to leave memory, as an absolute path.
    let spillDirectory: String

    package init(disk: any PartialStore, bodies: PartialBodyStore, spillDirectory: String) {
        self.disk = disk
        self.bodies = bodies
        self.spillDirectory = spillDirectory
    }

    package func open(_ site: PartialSite) throws(DownloadError) -> any Partial {
        if site.medium == .memory {
            if let body = bodies.take(site) { return MemoryPartial(body, store: self, site: site) }
            // On disk stands no body that only its secret headers tell from another user's.
            guard site.mayBeOnDisk, disk.holds(site) else { return MemoryPartial(nil, store: self, site: site) }
            let partial = try disk.open(site.onDisk)
            return MemoryPartial(partial, finding: partial.finding, store: self, site: site)
        }
        let partial = try disk.open(site)
        guard partial.finding == .nothing, let body = bodies.take(site) ?? spilledBody(site) else { return partial }
        do throws(DownloadError) {
            try partial.fill(from: body)
        } catch {
            // Kept for a time when there is room on the disk; this time begins anew.
            bodies.keep(body, of: site.spilled(to: spillDirectory), on: disk)
            return partial
        }
        return MemoryPartial(
            partial, finding: .bytes(body.representation, body.received), store: self, site: site)
    }

    package func refusal(of path: String) -> DownloadError? { disk.refusal(of: path) }

    package func holds(_ site: PartialSite) -> Bool { disk.holds(site) }

    package func place(
        copyOf path: String, at targets: [PlacementTarget], for site: PartialSite
    ) -> [Result<String, DownloadError>] {
        disk.place(copyOf: path, at: targets, for: site.onDisk)
    }

    package func unfinished(
        in directory: String, trustsDestinations: Bool
    ) throws(DownloadError) -> [UnfinishedPartial] {
        try disk.unfinished(in: directory, trustsDestinations: trustsDestinations)
    }

    package func adopt(_ file: ForeignFile, at site: PartialSite) throws(DownloadError) -> UnfinishedPartial {
        try disk.adopt(file, at: site.onDisk)
    }

    package func removeLeftovers(
        in directory: String, writtenBefore date: HTTPDate
    ) throws(DownloadError) -> RemovedLeftovers {
        try disk.removeLeftovers(in: directory, writtenBefore: date)
    }

    package func removeBodies(in directory: String, writtenBefore date: HTTPDate, exceeding byteLimit: Int64) {
        disk.removeBodies(in: directory, writtenBefore: date, exceeding: byteLimit)
    }

    package func removeImported(_ file: ForeignFile) { disk.removeImported(file) }

    package func unfinished(at site: PartialSite) -> UnfinishedPartial? { disk.unfinished(at: site.onDisk) }

    /// What had to leave memory, taken off the disk; nil where nothing had to.
    private func spilledBody(_ site: PartialSite) -> MemoryBody? {
        let spilled = site.spilled(to: spillDirectory)
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

extension PartialSite {
    /// The same place, on disk.
    var onDisk: Self {
        var site = self
        site.medium = .disk
        return site
    }

    /// Where the bytes of the same resource go that have to leave memory: one place, whoever asked for them.
    func spilled(to directory: String) -> Self {
        var site = onDisk
        site.directory = directory
        site.baseName = Self.spilledName
        site.request.destination = ""
        site.request.choosesName = false
        return site
    }

    /// Whether a body for memory may be on disk: without an account nothing there says whose it is.
    var mayBeOnDisk: Bool { secretHeaders.isEmpty || request.account != nil }

    /// What the hidden files of such bodies are named after.
    static let spilledName = "body"
}
