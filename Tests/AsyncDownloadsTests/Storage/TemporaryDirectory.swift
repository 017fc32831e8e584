internal import Foundation

@testable import AsyncDownloads

/// A directory on the real disk that is removed when its last reference is released.
final class TemporaryDirectory: Sendable {
    let path: String

    /// - Parameter parent: The directory to create it in.
    init(in parent: String = FileManager.default.temporaryDirectory.path) throws {
        path = "\(parent)/async-downloads-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    var location: PartialLocation { .sample(in: path) }
    var names: PartialNames { PartialNames(location) }
    var destination: String { "\(path)/file.zip" }

    /// The sorted names of the files in the directory.
    var contents: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() } }

    /// The path of the only partial file.
    var partialPath: String {
        get throws {
            let names = try contents.filter { $0.hasSuffix(".partial") }
            guard names.count == 1 else { throw CocoaError(.fileNoSuchFile) }
            return "\(path)/\(names[0])"
        }
    }

    func bytes(at path: String) -> [UInt8]? { FileManager.default.contents(atPath: path).map { [UInt8]($0) } }

    func put(_ bytes: some Sequence<UInt8>, at path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    func link(_ path: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
    }
}

extension TemporaryDirectory {
    /// Whether the volume of temporary directories stores extended attributes, and this build computes digests.
    static let hasAttributes: Bool = {
        let disk = POSIXFileSystem()
        guard RunningDigest.isAvailable, let directory = try? TemporaryDirectory(),
            let file = try? disk.open("\(directory.path)/probe", .new)
        else { return false }
        defer { disk.close(file) }
        return (try? disk.setAttribute("user.probe", to: [1], of: file)) != nil
    }()
}

extension PartialNames {
    /// Creates the names that this process uses.
    init(_ location: PartialLocation) {
        self.init(location, user: Self.ownUser)
    }

    static let ownUser = POSIXFileSystem().user
}
