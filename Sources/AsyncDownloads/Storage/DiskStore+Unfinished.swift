extension DiskStore {
    package func unfinished(in directory: String) throws(DownloadError) -> [UnfinishedPartial] {
        let names: [String]
        do {
            names = try disk.names(in: directory).sorted()
        } catch let error where error.kind == .missing {
            return []
        } catch {
            throw DownloadError(error)
        }
        return names.compactMap { name in
            guard name.utf8.first == UInt8(ascii: "."), name.hasSuffix(PartialNames.checkpointSuffix)
            else { return nil }
            return unfinished(name, in: directory, among: names)
        }
    }

    package func unfinished(at site: PartialSite) -> UnfinishedPartial? {
        let names = PartialNames(site)
        guard let others = try? disk.names(in: names.directory) else { return nil }
        return unfinished(PartialNames.lastComponent(of: names.checkpoint), in: names.directory, among: others)
    }

    /// Reads one checkpoint without owning it; nil where it cannot be read, or its bytes are gone.
    private func unfinished(_ name: String, in directory: String, among names: [String]) -> UnfinishedPartial? {
        guard let found = try? CheckpointFile.read(PartialNames.join(directory, name), on: disk),
            case .success(let file) = found
        else { return nil }
        defer { disk.close(file.handle) }
        let record = file.checkpoint
        let site = PartialSite(directory: directory, baseName: record.baseName, request: record.request)
        let siteNames = PartialNames(site)
        guard siteNames.stem + PartialNames.checkpointSuffix == name,
            let partial = names.first(where: { siteNames.claim(from: $0)?.token == record.token }),
            let information = try? disk.information(at: PartialNames.join(directory, partial))
        else { return nil }
        let mark = file.mark(of: information, session: session(device: information.device))?.mark
        return UnfinishedPartial(
            site: site, representation: record.representation, received: mark?.received ?? record.received,
            fileName: partial)
    }
}
