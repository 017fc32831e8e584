public import Observation

#if canImport(Combine)
public import Combine
#endif

/// One download of a list, for a user interface.
///
/// <!-- snippet: ios watchos
/// import SwiftUI
/// -->
/// ```swift
/// struct Row: View {
///     let item: DownloadItem
///
///     var body: some View {
///         ProgressView(value: item.snapshot.progress.fractionCompleted)
///     }
/// }
/// ```
///
/// The item follows its download as an observer: releasing the item doesn't affect the download. All changes are
/// published on the main actor, because a view that observes a change from another thread can miss the last one. Where
/// `Observable` isn't available, before iOS 17 and macOS 14, the item is an `ObservableObject`.
@MainActor
public final class DownloadItem: Identifiable {
    /// The identifier of the download.
    public nonisolated let id: Download.ID

    /// The download of the item.
    ///
    /// To start the download again, call ``retry()`` of the item rather than of the download, so that the item follows
    /// the repeated download.
    public nonisolated let download: Download

    private let observers = ObservationSupport()
    private var current: Download.Snapshot
    private var observation: Task<Void, Never>?

    /// Creates an item that follows `download`.
    public init(_ download: Download) {
        id = download.id
        self.download = download
        current = download.snapshot
        observe()
    }

    deinit {
        observation?.cancel()
    }

    /// The last published snapshot of the download.
    public var snapshot: Download.Snapshot {
        if #available(macOS 14, iOS 17, tvOS 17, watchOS 10, *) {
            observers.registrar.access(self, keyPath: \.snapshot)
        }
        return current
    }

    /// Pauses the download; see ``Download/pause()``.
    public func pause() { download.pause() }

    /// Resumes the download; see ``Download/resume()``.
    public func resume() { download.resume() }

    /// Cancels the download and keeps its bytes; see ``Download/cancel()``.
    public func cancel() { download.cancel() }

    /// Cancels the download and removes its bytes; see ``Download/discard()``.
    public func discard() { download.discard() }

    /// Starts the download again after a failure or a cancellation; see ``Download/retry()``.
    public func retry() {
        download.retry()
        observe()
    }

    /// Follows the download until it has ended, or until the item is released.
    private func observe() {
        observation?.cancel()
        let updates = download.updates
        observation = Task { [weak self] in
            for await snapshot in updates {
                // A canceled task may have received a snapshot of the download before it was repeated.
                guard !Task.isCancelled, let self else { return }
                show(snapshot)
            }
        }
    }

    private func show(_ snapshot: Download.Snapshot) {
        guard snapshot != current else { return }
        #if canImport(Combine)
        objectWillChange.send()
        #endif
        if #available(macOS 14, iOS 17, tvOS 17, watchOS 10, *) {
            observers.registrar.withMutation(of: self, keyPath: \.snapshot) { current = snapshot }
        } else {
            current = snapshot
        }
    }
}

@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
extension DownloadItem: Observable {}

#if canImport(Combine)
extension DownloadItem: ObservableObject {}
#endif
