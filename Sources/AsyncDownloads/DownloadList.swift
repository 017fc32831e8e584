public import Observation

public import struct Foundation.IndexSet
public import struct Foundation.URL

#if canImport(Combine)
public import Combine
#endif

/// The downloads that a user interface shows, in the order in which they were added.
///
/// <!-- snippet
/// @MainActor
/// func show() async throws {
///     ...
/// }
/// -->
/// ```swift
/// let list = DownloadList(downloader: downloader)
/// try await list.restore(in: directory)
/// list.add(DownloadRequest(from: url, into: directory))
/// ```
///
/// The list contains an item for each download that was added, even after the download has ended, until ``remove(_:)``
/// is called. All changes are published on the main actor. Where `Observable` isn't available, before iOS 17 and macOS
/// 14, the list is an `ObservableObject`.
@MainActor
public final class DownloadList {
    /// The downloader that carries out the downloads of the list.
    public nonisolated let downloader: Downloader

    private let observers = ObservationSupport()
    private var current: [DownloadItem] = []

    /// Creates an empty list.
    public init(downloader: Downloader) {
        self.downloader = downloader
    }

    /// The items in the order in which they were added.
    public var items: [DownloadItem] {
        if #available(macOS 14, iOS 17, tvOS 17, watchOS 10, *) {
            observers.registrar.access(self, keyPath: \.items)
        }
        return current
    }

    /// The item of a download, or `nil` if the list doesn't contain it.
    public subscript(id: Download.ID) -> DownloadItem? { items.first { $0.id == id } }

    /// Starts a download, and adds an item for it.
    @discardableResult
    public func add(_ request: DownloadRequest) -> DownloadItem { add(downloader.start(request)) }

    /// Adds an item for a download, unless the list already contains it.
    ///
    /// - Returns: The item of the download.
    @discardableResult
    public func add(_ download: Download) -> DownloadItem {
        if let present = current.first(where: { $0.id == download.id }) { return present }
        let item = DownloadItem(download)
        change { current.append(item) }
        return item
    }

    /// Adds the unfinished downloads that earlier launches left in `directory`, each one paused.
    ///
    /// Downloads that the list already contains aren't added again. With a background session, call
    /// ``restoreBackgroundDownloads()`` instead.
    ///
    /// - Parameters:
    ///   - directory: The directory of the unfinished files.
    ///   - includingSubdirectories: Whether the directories below `directory` are searched as well. Default: `false`.
    ///   - prepare: A closure that is called with each request; see
    ///     ``Downloader/restore(in:includingSubdirectories:prepare:)``.
    /// - Throws: The errors of ``Downloader/restore(in:includingSubdirectories:prepare:)``.
    public func restore(
        in directory: URL, includingSubdirectories: Bool = false,
        prepare: @Sendable (inout DownloadRequest) -> Void = { _ in }
    ) async throws(DownloadError) {
        // Another download would be created for an item that has ended and kept its bytes.
        let found = try await downloader.restore(
            in: directory, includingSubdirectories: includingSubdirectories, excluding: Set(current.map(\.id)),
            prepare: prepare)
        for download in found { add(download) }
    }

    /// Adds the downloads of the background session that earlier launches started.
    ///
    /// Downloads that the list already contains aren't added again. The outcome of a download is acknowledged when its
    /// item is removed, not before; see ``Download/acknowledge()``.
    ///
    /// - Throws: The errors of ``Downloader/restored()``.
    public func restoreBackgroundDownloads() async throws(DownloadError) {
        for restored in try await downloader.restored() { add(restored.download) }
    }

    /// Removes an item, and discards its download unless it has finished.
    ///
    /// The received bytes are removed, so that the download isn't restored at the next launch. The file of a finished
    /// download is kept. In a background session, an outcome is acknowledged.
    public func remove(_ item: DownloadItem) {
        guard current.contains(where: { $0 === item }) else { return }
        change { current.removeAll { $0 === item } }
        item.discard()
        item.download.acknowledge()
    }

    /// Removes the items at `offsets`, as ``remove(_:)`` does, for SwiftUI's `onDelete(perform:)`.
    public func remove(atOffsets offsets: IndexSet) {
        for item in offsets.filter(current.indices.contains).map({ current[$0] }) { remove(item) }
    }

    /// Pauses the downloads of the list.
    public func pauseAll() {
        // Waiting downloads are paused first, because a running one releases its permit, which would start them.
        for item in current where item.download.state == .waiting { item.pause() }
        for item in current { item.pause() }
    }

    /// Resumes the paused downloads of the list.
    public func resumeAll() {
        for item in current { item.resume() }
    }

    private func change(_ body: () -> Void) {
        #if canImport(Combine)
        objectWillChange.send()
        #endif
        if #available(macOS 14, iOS 17, tvOS 17, watchOS 10, *) {
            observers.registrar.withMutation(of: self, keyPath: \.items, body)
        } else {
            body()
        }
    }
}

@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
extension DownloadList: Observable {}

#if canImport(Combine)
extension DownloadList: ObservableObject {}
#endif
