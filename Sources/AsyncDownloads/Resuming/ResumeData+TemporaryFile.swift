public import Foundation

extension ResumeData {
    /// Finds the file that holds the bytes, and makes sure that it is what was recorded.
    ///
    /// It must be a regular file of exactly ``receivedByteCount`` bytes that belongs to this process's user and has one
    /// name; a symbolic link is never followed.
    ///
    /// - Parameter directory: The one directory to look in. Without it ``recordedPath`` is tried, and then the
    ///   temporary directory, where URLSession keeps its files, unless the session is a background one: those are in
    ///   `com.apple.nsurlsessiond/Downloads/` and the bundle's identifier, below the caches directory.
    /// - Throws: A ``DownloadError``: ``DownloadError/Code/resumeDataUnusable`` where there is no such file.
    public func temporaryFile(in directory: URL? = nil) throws(DownloadError) -> URL {
        let disk = POSIXFileSystem()
        let file = try openTemporaryFile(in: directory, on: disk)
        disk.close(file.handle)
        return URL(fileURLWithPath: file.path, isDirectory: false)
    }

    /// A temporary file as it was found and checked.
    package struct TemporaryFile: Sendable {
        package var path: String
        /// Open to read and to write; whoever asked for it closes it.
        package var handle: OpenFile
        /// What it was when it was checked, to tell whether the path still leads to it.
        package var information: FileInformation
    }

    /// Opens what ``temporaryFile(in:)`` finds, so that what was checked and what is read are one file.
    package func openTemporaryFile(
        in directory: URL? = nil, on disk: any FileSystem = POSIXFileSystem()
    ) throws(DownloadError) -> TemporaryFile {
        var problem: DownloadError?
        for path in candidates(directory) {
            do {
                return try open(path, on: disk)
            } catch {
                problem = error
            }
        }
        throw problem ?? .unusable("its temporary file cannot be found")
    }

    private func candidates(_ directory: URL?) -> [String] {
        let place = PartialNames.join((directory ?? FileManager.default.temporaryDirectory).path, temporaryFileName)
        return directory == nil ? (recordedPath.map { [$0] } ?? []) + [place] : [place]
    }

    private func open(_ path: String, on disk: any FileSystem) throws(DownloadError) -> TemporaryFile {
        do {
            let handle = try disk.open(path, .existing)
            do {
                let information = try disk.information(of: handle)
                let owner = FileOwner(disk: disk, directory: PartialNames.directory(of: path))
                if let reason = try reasonAgainst(information, owner) { throw DownloadError.unusable(reason) }
                return TemporaryFile(path: path, handle: handle, information: information)
            } catch {
                disk.close(handle)
                throw error
            }
        } catch let failure as FileFailure {
            switch failure.kind {
            case .missing: throw .unusable("its temporary file is gone", underlyingError: failure)
            case .unusablePath: throw .unusable("its temporary file is none", underlyingError: failure)
            default: throw DownloadError(failure)
            }
        } catch {
            throw error as? DownloadError ?? .unusable("its temporary file cannot be used", underlyingError: error)
        }
    }

    /// Why the file cannot hold the recorded bytes; nil where it may.
    func reasonAgainst(_ information: FileInformation, _ owner: FileOwner) throws(FileFailure) -> String? {
        guard information.kind == .regular else { return "its temporary file is none" }
        guard try owner.isPrivate(information) else {
            return "its temporary file belongs to others, or has other names"
        }
        guard information.size == receivedByteCount else {
            return "its temporary file holds \(information.size) bytes in place of \(receivedByteCount)"
        }
        return nil
    }
}
