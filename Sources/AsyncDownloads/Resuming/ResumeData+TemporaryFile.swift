public import Foundation

extension ResumeData {
    /// Finds the file that contains the bytes, and checks that it is the file that was recorded.
    ///
    /// The file must be a regular file of exactly ``receivedByteCount`` bytes that belongs to the user of this process
    /// and has no other hard links. Symbolic links aren't followed.
    ///
    /// - Parameter directory: The only directory to search. If it is `nil`, ``recordedPath`` is tried first, and then
    ///   the temporary directory, where URLSession keeps its files. The files of a background session are elsewhere: in
    ///   `com.apple.nsurlsessiond/Downloads/` and the bundle's identifier, below the caches directory.
    /// - Returns: The URL of the file.
    /// - Throws: A ``DownloadError``; its code is ``DownloadError/Code/resumeDataUnusable`` if the file isn't found.
    public func temporaryFile(in directory: URL? = nil) throws(DownloadError) -> URL {
        let disk = POSIXFileSystem()
        let file = try openTemporaryFile(in: directory, on: disk)
        disk.close(file.handle)
        return URL(fileURLWithPath: file.path, isDirectory: false)
    }

    /// A temporary file that was found and checked.
    package struct TemporaryFile: Sendable {
        package var path: String
        /// The handle of the file, open for reading and writing; the code that receives it must close it.
        var handle: OpenFile
        /// The properties of the file when it was checked, for comparison with the file that is later at the path.
        var information: FileInformation
    }

    /// Opens the file that ``temporaryFile(in:)`` finds, so that the checked file is the one that is read.
    func openTemporaryFile(
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
        throw problem ?? .unusable("the temporary file cannot be found")
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
            case .missing: throw .unusable("the temporary file is missing", underlyingError: failure)
            case .unusablePath: throw .unusable("the temporary file is not a regular file", underlyingError: failure)
            default: throw DownloadError(failure)
            }
        } catch {
            throw error as? DownloadError ?? .unusable("the temporary file cannot be used", underlyingError: error)
        }
    }

    /// Returns the reason why the file can't contain the recorded bytes, or `nil` if it may contain them.
    func reasonAgainst(_ information: FileInformation, _ owner: FileOwner) throws(FileFailure) -> String? {
        guard information.kind == .regular else { return "the temporary file is not a regular file" }
        guard try owner.isPrivate(information) else {
            return "the temporary file belongs to another user, is writable by others, or has other hard links"
        }
        guard information.size == receivedByteCount else {
            return "the temporary file contains \(information.size) bytes instead of \(receivedByteCount)"
        }
        return nil
    }
}
