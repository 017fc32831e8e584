extension PartialStore {
    /// Measures the hidden files of this user in `directory`, without locking them.
    ///
    /// If the directory doesn't exist, the result is empty.
    func diskUsage(
        in directory: String, includingSubdirectories: Bool = false
    ) throws(DownloadError) -> DiskUsage {
        var usage = DiskUsage()
        do {
            try searchHiddenFiles(in: directory, includingSubdirectories: includingSubdirectories) { files in
                for location in files.locations { add(location, to: &usage) }
            }
        } catch let error where error.kind == .missing {
            return usage
        } catch {
            throw DownloadError(error)
        }
        return usage
    }

    private func add(_ location: HiddenFiles.Location, to usage: inout DiskUsage) {
        let unfinished = unfinished(location)
        if let unfinished {
            usage.downloadCount += 1
            usage.receivedByteCount = usage.receivedByteCount.addingClamped(unfinished.received.count)
        }
        let owner = FileOwner(disk: disk, names: location.names)
        for (name, parts) in location.files {
            guard let information = try? disk.information(at: PartialNames.join(location.names.directory, name)),
                information.kind == .regular, (try? owner.isOwn(information)) == true
            else { continue }
            if unfinished?.uses(name, parts) == true {
                usage.allocatedByteCount = usage.allocatedByteCount.addingClamped(information.allocatedSize)
            } else {
                usage.otherFileCount += 1
                usage.otherAllocatedByteCount = usage.otherAllocatedByteCount.addingClamped(information.allocatedSize)
            }
        }
    }
}

extension UnfinishedPartial {
    /// Whether a file of this location belongs to the unfinished download.
    fileprivate func uses(_ name: String, _ parts: HiddenName) -> Bool {
        parts.kind == .lock || parts.isCheckpoint || fileName.map { $0.hasSameBytes(as: name) } == true
    }
}
