public import Foundation

extension Download {
    /// Returns a `Progress` object that follows this download.
    ///
    /// Use the object with code that displays a `Progress`, or that combines several under a parent. It counts bytes;
    /// its `totalUnitCount` is `-1` while the length is unknown. It also reports the throughput and the estimated time
    /// remaining.
    ///
    /// Canceling, pausing, or resuming the object cancels, pauses, or resumes this download. A pause that doesn't come
    /// from the object isn't reflected in its `isPaused` property. The object may change on any thread. It is an
    /// observer: it doesn't keep the transfer running. Each call creates a new object.
    ///
    /// On Linux, where `Progress` isn't thread-safe, the changes of all downloads are serialized. Use
    /// ``makeProgress(under:pendingUnitCount:)`` there to combine several downloads under a parent. Reading a
    /// `Progress` while it changes is a data race on Linux, which this package can't prevent; ``progress`` and
    /// ``events`` may be read at any time.
    public func makeProgress() -> Progress {
        makeProgress { _ in }
    }

    /// Returns a `Progress` object that follows this download as a child of `parent`; see ``makeProgress()``.
    ///
    /// On Linux, this method serializes the addition with changes of other downloads' progress. A direct call of
    /// `addChild(_:withPendingUnitCount:)` isn't serialized with them.
    ///
    /// - Parameters:
    ///   - parent: The progress object to which the new object is added.
    ///   - pendingUnitCount: The number of units of `parent` that this download represents.
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
        prepare(progress)
        let snapshots = updates
        // Nothing awaits a `Progress`, so an unstructured task updates it until the object is released or the download
        // ends. `Progress` can't represent a failure, so a failed download leaves its last values in place.
        Task { [weak progress] in
            for await snapshot in snapshots {
                guard let progress else { return }
                progress.show(snapshot.progress)
            }
        }
        return progress
    }
}

/// Serializes changes of `Progress` objects on platforms where `Progress` isn't thread-safe.
///
/// A change propagates to the parent, so two children of one parent must not change concurrently. On Linux, a change
/// doesn't call other code, so a lock may be held during the change.
enum ProgressChanges {
    #if canImport(Darwin)
    static func inTurn<Value>(_ change: () -> Value) -> Value { change() }
    #else
    // The thread sanitizer reports accesses to a zero-sized value as races, so the value is a number.
    private static let lock = Mutex(0)

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
        // With a total of 0, `Progress` would be indeterminate, but an empty file of known length is complete.
        let isEmpty = value.expectedByteCount == 0
        totalUnitCount = isEmpty ? 1 : value.expectedByteCount ?? -1
        completedUnitCount = isEmpty ? 1 : value.receivedByteCount
        // The corresponding properties don't exist on Linux.
        setUserInfoObject(value.bytesPerSecond.map { Int($0) }, forKey: .throughputKey)
        setUserInfoObject(value.timeRemaining.map { $0 / .seconds(1) }, forKey: .estimatedTimeRemainingKey)
    }
}
