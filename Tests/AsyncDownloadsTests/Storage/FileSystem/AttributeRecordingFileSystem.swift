@testable import AsyncDownloads

/// The real file system, which records the attributes that files get and the renames that follow.
final class AttributeRecordingFileSystem: ForwardingFileSystem {
    enum Change: Sendable, Hashable {
        /// The attributes of a file whose destination is in the directory.
        case attributes(FileAttributes, directory: String)
        /// A file got its name at the path.
        case rename(String)
    }

    private let list = Mutex<[Change]>([])

    var changes: [Change] { list.withLock { $0 } }

    func setAttributes(_ attributes: FileAttributes, of file: OpenFile, in directory: String) {
        list.withLock { $0.append(.attributes(attributes, directory: directory)) }
    }

    func rename(_ path: String, to destination: String) throws(FileFailure) {
        try base.rename(path, to: destination)
        list.withLock { $0.append(.rename(destination)) }
    }
}
