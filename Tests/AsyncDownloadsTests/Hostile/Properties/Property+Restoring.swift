internal import Foundation

@testable import AsyncDownloads

/// The property of planted checkpoints in a directory that is restored: nothing is written outside the directory.
extension Property {
    /// Checks the bytes as the record of a checkpoint whose checksum, names, owner, and inode number are correct.
    static func restoring(_ bytes: [UInt8]) throws {
        guard var checkpoint = try? Checkpoint.decode(block(of: bytes[...])).checkpoint else { return }
        let disk = POSIXFileSystem()
        let scratch = FileManager.default.temporaryDirectory.appending(path: "async-downloads-\(UUID())").path
        let directory = scratch + "/inner"
        try disk.makeDirectory(scratch)
        defer { try? FileManager.default.removeItem(atPath: scratch) }
        try disk.makeDirectory(directory)
        try disk.makeDirectory(scratch + "/victims")
        try FileManager.default.createSymbolicLink(
            atPath: directory + "/link", withDestinationPath: scratch + "/victims")

        let location = PartialLocation(directory: directory, baseName: checkpoint.baseName, request: checkpoint.request)
        let names = PartialNames(location, user: disk.user)
        checkpoint.token = String(repeating: "0", count: 16)
        let claim = PartialNames.Claim(token: checkpoint.token, owner: checkpoint.token)
        guard let partial = try? disk.open(names.path(claim, .partial), .new) else { return }
        defer { disk.close(partial) }
        checkpoint.inode = try disk.information(of: partial).inode
        checkpoint.received = IntervalSet()
        checkpoint.session = nil
        let handle = try disk.open(names.checkpoint, .new)
        try disk.write(try checkpoint.encoded() + Checkpoint.emptyBlocks, to: handle, at: 0)
        disk.close(handle)

        let store = PartialStore(durability: .processCrash)
        for unfinished in try store.unfinished(in: directory, trustsDestinations: false) {
            guard let request = DownloadRequest(unfinished, in: nil), request.validationError == nil else { continue }
            let place: PlacementTarget.Place
            switch request.destination {
            case .memory: continue
            case .file(let file): place = .path(file.path, below: request.confiningDirectory(of: file))
            case .directory(let folder):
                place = .directory(
                    folder.path, name: "name", isCallers: true, below: request.confiningDirectory(of: folder))
            }
            let open = try store.open(unfinished.location)
            try? open.begin(Representation(finalURL: "http://a.example/", length: 0))
            let target = PlacementTarget(place, resource: nil, names: DirectoryNames(), isFree: { _ in true })
            _ = open.place(at: [target], length: 0)
            open.discard()
        }
        let outside = try disk.names(in: scratch).sorted()
        try demand(outside == ["inner", "victims"], "\(outside) next to the directory")
        try demand(try disk.names(in: scratch + "/victims").isEmpty, "a file at the target of a link")
    }
}
