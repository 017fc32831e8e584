public import Foundation

extension Download {
    /// Makes a `Progress` that follows this download, for code that shows one or collects several under a parent.
    ///
    /// It counts bytes, `-1` of them in all while the length is unknown, and carries throughput and estimated time
    /// remaining. Cancelling it cancels this handle, pausing and resuming it do the same here; a pause that comes from
    /// elsewhere is not shown by its `isPaused`. It changes on any thread. Following it keeps no download alive, and each
    /// call makes another one.
    ///
    /// On Linux, where `Progress` has no lock, the changes are serialized for all downloads. Use
    /// ``makeProgress(under:pendingUnitCount:)`` there to collect several under a parent. Reading a `Progress` while it
    /// changes is a race there, which this package cannot prevent; ``progress`` and ``events`` may be read at any time.
    public func makeProgress() -> Progress {
        makeProgress { _ in }
    }

    /// Makes a `Progress` that follows this download as a child of `parent`; see ``makeProgress()``.
    ///
    /// It becomes a child in turn with the changes of other downloads' progress, which `addChild(_:withPendingUnitCount:)`
    /// does not on Linux.
    ///
    /// - Parameters:
    ///   - parent: The progress of the whole.
    ///   - pendingUnitCount: How many units of `parent` this download is worth.
    @discardableResult
    public func makeProgress(under parent: Progress, pendingUnitCount: Int64) -> Progress {
        makeProgress { progress in
            ProgressChanges.inTurn { parent.addChild(progress, withPendingUnitCount: pendingUnitCount) }
        }
    }

    private func makeProgress(_ prepare: (Progress) -> Void) -> Progress {
        let progress = Progress(parent: nil)
        progress.totalUnitCount = -1
        progress.kind = .file
        progress.setUserInfoObject(Progress.FileOperationKind.downloading, forKey: .fileOperationKindKey)
        progress.isCancellable = true
        progress.isPausable = true
        progress.cancellationHandler = { [self] in cancel() }
        progress.pausingHandler = { [self] in pause() }
        progress.resumingHandler = { [self] in resume() }
        progress.show(self.progress)
        prepare(progress)
        let events = updates
        // Nobody awaits a `Progress`, so one task follows the download for as long as either lives.
        Task { [weak progress] in
            do {
                for try await event in events {
                    guard let progress else { return }
                    switch event {
                    case .progress(let value): progress.show(value)
                    case .restarted: progress.show(DownloadProgress())
                    case .finished(let file):
                        progress.show(
                            DownloadProgress(receivedByteCount: file.byteCount, expectedByteCount: file.byteCount))
                    default: break
                    }
                }
            } catch {
                // A download that failed stays where it was, as `Progress` has no failure to show.
            }
        }
        return progress
    }
}

/// Changes of `Progress` objects, one at a time where these have no lock of their own.
///
/// A change reaches the parent, so that children of one parent must not change at once. Nothing is called back from a
/// change on Linux, so a lock may be held.
enum ProgressChanges {
    #if canImport(Darwin)
    static func inTurn<Value>(_ change: () -> Value) -> Value { change() }
    #else
    private static let lock = Mutex(())

    static func inTurn<Value>(_ change: () -> Value) -> Value {
        lock.withLock { _ in change() }
    }
    #endif
}

extension Progress {
    fileprivate func show(_ value: DownloadProgress) {
        ProgressChanges.inTurn { set(value) }
    }

    private func set(_ value: DownloadProgress) {
        // An empty file of known length would be indeterminate: it is complete.
        let isEmpty = value.expectedByteCount == 0
        totalUnitCount = isEmpty ? 1 : value.expectedByteCount ?? -1
        completedUnitCount = isEmpty ? 1 : value.receivedByteCount
        // The properties for these are missing on Linux.
        setUserInfoObject(value.bytesPerSecond.map { Int($0) }, forKey: .throughputKey)
        setUserInfoObject(value.timeRemaining.map { $0 / .seconds(1) }, forKey: .estimatedTimeRemainingKey)
    }
}
