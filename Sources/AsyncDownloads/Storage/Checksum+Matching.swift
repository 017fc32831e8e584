public import struct Foundation.URL

extension Checksum {
    /// Returns whether the file has this digest.
    ///
    /// The file is read on a separate thread; of a large number of files, at most eight for each core are open at a time.
    /// A symbolic link is followed.
    ///
    /// - Throws: ``DownloadError`` with the code ``DownloadError/Code/destinationUnusable`` if it isn't a regular file,
    ///   ``DownloadError/Code/permissionDenied`` or ``DownloadError/Code/storageFailure`` if it can't be read,
    ///   ``DownloadError/Code/invalidRequest`` if the checksum is malformed, and ``DownloadError/Code/cancelled`` if
    ///   the task is canceled.
    public func matches(contentsOf file: URL) async throws(DownloadError) -> Bool {
        guard isWellFormed else {
            throw DownloadError(.invalidRequest, "the checksum is not one of \(algorithm.rawValue)")
        }
        guard file.isFileURL else { throw DownloadError(.invalidRequest, "not a file URL") }
        let answer = MatchAnswer()
        let path = file.resolvingSymlinksInPath().filePath
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Result<Bool, DownloadError>, Never>) in
                answer.await(continuation)
                BlockingThreads.readers.run {
                    guard answer.isWanted else { return }
                    answer.give(Result { () throws(DownloadError) in try matches(path) { answer.isWanted } })
                }
            }
        } onCancel: {
            answer.give(.failure(DownloadError(.cancelled)))
        }
        return try result.get()
    }

    private func matches(_ path: String, ifWanted isWanted: () -> Bool) throws(DownloadError) -> Bool {
        let disk = POSIXFileSystem()
        let (handle, information): (OpenFile, FileInformation)
        do throws(FileFailure) {
            handle = try disk.open(path, .reading)
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

/// The answer to the task that waits for a file to be read, which is given once.
private final class MatchAnswer: Sendable {
    typealias Value = Result<Bool, DownloadError>

    private enum State {
        case open
        case awaited(CheckedContinuation<Value, Never>)
        /// Given before the task waited for it, or afterward.
        case given(Value)
    }

    private let state = Mutex(State.open)

    /// Whether the answer hasn't been given.
    var isWanted: Bool { state.withLock { if case .given = $0 { false } else { true } } }

    func await(_ continuation: CheckedContinuation<Value, Never>) {
        let given = state.withLock { state -> Value? in
            if case .given(let value) = state { return value }
            state = .awaited(continuation)
            return nil
        }
        if let given { continuation.resume(returning: given) }
    }

    func give(_ value: Value) {
        let continuation = state.withLock { state -> CheckedContinuation<Value, Never>? in
            defer { if case .given = state {} else { state = .given(value) } }
            if case .awaited(let continuation) = state { return continuation }
            return nil
        }
        continuation?.resume(returning: value)
    }
}
