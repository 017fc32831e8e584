internal import AsyncDownloads
internal import Foundation

/// A file to download.
struct Item: Sendable, Hashable {
    /// The position among all items, starting at 0.
    var id = 0
    var address: Address
    /// The URLs of the same file from which it is downloaded if ``address`` fails, in their order.
    var mirrors: [Address] = []
    /// The output directory.
    var directory = URL(fileURLWithPath: ".", isDirectory: true)
    var output: OutputName?
    /// The directory below the output directory, if the item gives no path itself.
    var subdirectory = ""
    /// Whether ``subdirectory`` was derived from the URL.
    var isSubdirectoryFromURL = false
    /// The name with a number, if another URL has the name of this one.
    var numberedName: String?
    var checksum: Checksum?
    /// The length of the file, if the user knows it.
    var byteCount: Int64?
    var headers: [HeaderLine] = []
    /// Headers that may be sent to other origins and recorded on disk.
    var publicHeaders: [HeaderLine] = []
    /// The place of the item in the units of a task, if it belongs to one.
    var unit: UnitPlace?

    /// The name of the file if the user gave no path and the server suggests no name.
    var fileName: String {
        numberedName ?? FileName.unsuggested(nil, from: address.url)
    }

    /// The path of the file in the output directory, unless the server suggests a name.
    var path: String {
        output?.path ?? path(named: fileName)
    }

    /// The path that is displayed until the file is finished.
    var name: String { path.distinctFromOptions }

    /// Returns the path in the output directory of a file with this name, if the user gave no path.
    func path(named fileName: String) -> String {
        subdirectory.isEmpty ? fileName : "\(subdirectory)/\(fileName)"
    }

    /// The error of an item whose subdirectory, which was derived from a URL, leads out of the output directory.
    ///
    /// A path that the user gave may contain symbolic links.
    var pathError: DownloadError? {
        guard isSubdirectoryFromURL else { return nil }
        var url = directory
        for component in subdirectory.utf8.split(separator: UInt8(ascii: "/")) {
            url.append(path: String(decoding: component, as: UTF8.self), directoryHint: .isDirectory)
            // For a link, these are the attributes of the link itself.
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: url.path) else { return nil }
            if attributes[.type] as? FileAttributeType == .typeSymbolicLink {
                return DownloadError(
                    .destinationUnusable, "\(url.lastPathComponent) is a symbolic link", url: address.url)
            }
        }
        return nil
    }

    /// The request for the item, without the additions of the options.
    ///
    /// If the user gave no name, the library chooses the server's or the default one.
    var request: DownloadRequest {
        guard let output else {
            let folder =
                subdirectory.isEmpty
                ? directory : directory.appending(path: subdirectory, directoryHint: .isDirectory)
            var request = DownloadRequest(from: address.url, into: folder, checksum: checksum)
            if let numberedName { request.defaultFileName = numberedName }
            return request
        }
        return DownloadRequest(from: address.url, to: output.url(in: directory), checksum: checksum)
    }
}

extension String {
    /// The path with `./` before a leading hyphen, so that no reader and no command takes it for an option.
    var distinctFromOptions: String { utf8.first == UInt8(ascii: "-") ? "./" + self : self }
}
