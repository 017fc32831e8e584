internal import Foundation

@testable internal import AsyncDownloads

/// A file system that copies the checkpoint at the moment when a file gets its chosen name.
final class CheckpointKeepingFileSystem: ForwardingFileSystem {
    let path: String
    let bytes = Mutex<[UInt8]>([])

    init(path: String) {
        self.path = path
    }

    func rename(_ source: String, toUnused destination: String) throws(FileFailure) {
        try base.rename(source, toUnused: destination)
        bytes.withLock { $0 = FileManager.default.contents(atPath: path).map { [UInt8]($0) } ?? [] }
    }
}

/// A file system that counts the calls that look up names or open files.
final class CallCountingFileSystem: ForwardingFileSystem {
    let lookups = Mutex(0)

    func information(at path: String) throws(FileFailure) -> FileInformation? {
        lookups.withLock { $0 += 1 }
        return try base.information(at: path)
    }

    func open(_ path: String, _ purpose: OpenPurpose) throws(FileFailure) -> OpenFile {
        lookups.withLock { $0 += 1 }
        return try base.open(path, purpose)
    }

    func rename(_ path: String, toUnused destination: String) throws(FileFailure) {
        lookups.withLock { $0 += 1 }
        try base.rename(path, toUnused: destination)
    }

    func names(in directory: String) throws(FileFailure) -> [String] {
        let names = try base.names(in: directory)
        lookups.withLock { $0 += names.count }
        return names
    }
}
