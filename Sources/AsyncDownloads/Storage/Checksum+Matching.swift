public import struct Foundation.URL

extension Checksum {
    /// Returns whether the file has this digest.
    ///
    /// The file is read on a separate thread. At most eight files for each core are read at a time, and additional
    /// calls wait until one of them ends. Files on a volume that doesn't respond can therefore delay all calls. A
    /// symbolic link is followed.
    ///
    /// - Throws: ``DownloadError`` with the code ``DownloadError/Code/destinationUnusable`` if the file doesn't exist
    ///   or isn't a regular file; ``DownloadError/Code/permissionDenied``, ``DownloadError/Code/tooManyOpenFiles``, or
    ///   ``DownloadError/Code/storageFailure`` if it can't be read; ``DownloadError/Code/invalidRequest`` if the
    ///   checksum is malformed or `file` isn't a file URL; and ``DownloadError/Code/cancelled`` if the task is canceled.
    public func matches(contentsOf file: URL) async throws(DownloadError) -> Bool {
        guard isWellFormed else {
            throw DownloadError(.invalidRequest, "the \(algorithm.rawValue) checksum is malformed")
        }
        guard file.isFileURL else { throw DownloadError(.invalidRequest, "not a file URL") }
        let answer = FirstAnswer<Result<Bool, DownloadError>>()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Result<Bool, DownloadError>, Never>) in
                answer.whenGiven { continuation.resume(returning: $0) }
                BlockingThreads.readers.run {
                    guard !answer.isGiven else { return }
                    answer(Result { () throws(DownloadError) in try matches(file) { !answer.isGiven } })
                }
            }
        } onCancel: {
            answer(.failure(DownloadError(.cancelled)))
        }
        return try result.get()
    }

    private func matches(_ file: URL, ifWanted isWanted: () -> Bool) throws(DownloadError) -> Bool {
        let disk = POSIXFileSystem()
        let (handle, information): (OpenFile, FileInformation)
        do throws(FileFailure) {
            handle = try disk.open(file.resolvingSymlinksInPath().filePath, .reading)
            do throws(FileFailure) {
                information = try disk.information(of: handle)
            } catch {
                disk.close(handle)
                throw error
            }
        } catch {
            throw DownloadError(error)
        }
        defer { disk.close(handle) }
        guard information.kind == .regular else { throw DownloadError(.destinationUnusable, "not a regular file") }
        return try disk.digest(algorithm, of: handle, length: information.size, ifWanted: isWanted) == hex
    }
}
