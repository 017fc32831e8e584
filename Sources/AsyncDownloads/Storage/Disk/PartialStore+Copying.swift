extension PartialStore {
    /// Places copies of a finished file at all targets, atomically, as ``PartialFile/place(at:length:ifWanted:)`` does.
    ///
    /// - Parameters:
    ///   - path: The path of the finished file.
    ///   - targets: The destinations of the copies.
    ///   - location: The location of the file's former partial file, which determines the names of temporary files.
    func place(
        copyOf path: String, at targets: [PlacementTarget], for location: PartialLocation
    ) -> [PlacementOutcome] {
        do {
            let handle = try disk.open(path, .reading)
            defer { disk.close(handle) }
            let file = ClaimedFile(
                claim: .new(isExclusive: true), handle: handle, information: try disk.information(of: handle),
                volume: disk.volumeKind(of: handle))
            var placement = Placement(store: self, names: names(of: location), file: file, isTaken: true)
            for target in targets where !target.isExactly(path) { placement.put(at: target) }
            placement.synchronizeDirectories(with: synchronizeDirectoryRetrying)
            var results = placement.results.makeIterator()
            return targets.map { target in
                // A target may be the file's present path, which needs no copy.
                target.isExactly(path)
                    ? .success(path) : (results.next() ?? .success(path)).mapError { DownloadError($0) }
            }
        } catch {
            return targets.map { _ in .failure(DownloadError(error)) }
        }
    }
}

extension PlacementTarget {
    fileprivate func isExactly(_ path: String) -> Bool {
        guard case .path(let own, _) = place else { return false }
        return own.hasSameBytes(as: path)
    }
}
