internal import Foundation

/// The items that the command downloads, and their directory.
extension Batch {
    /// The directory for the downloaded files.
    var destination: URL { URL(fileURLWithPath: directory ?? ".", isDirectory: true) }

    /// Returns the items of the URLs, followed by the items of the manifests, each in the given order.
    func feed() -> ItemFeed {
        let items = urls.map { Item(address: $0, output: output, checksum: checksum) }
        let readers =
            inputs.map { ManifestReader($0, ManifestParser(.downloads, base: base)) }
            + checksums.map { ManifestReader($0, ManifestParser(.digests, base: base)) }
        return ItemFeed(
            items, readers,
            names: NameRegister(cutDirectoryCount: keepsDirectories ? cutDirectoryCount ?? 0 : nil),
            resultPaths: [report, failureManifest].compactMap { $0 }, into: destination)
    }
}
