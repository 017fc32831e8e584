internal import AsyncDownloads

/// An item, and the reason why it can't be downloaded, if there is one.
typealias NextItem = (item: Item, refusal: DownloadError?)

/// The items of a run, in the order in which they start.
protocol ItemSource: Sendable {
    /// The number of items that are known so far.
    var knownCount: Int { get }
    /// Whether ``knownCount`` includes all items.
    var isComplete: Bool { get }
    /// Ends all waiting for the next item.
    var cancellation: @Sendable () -> Void { get }

    /// Returns the next item; nil at the end, and after a cancellation.
    mutating func next() async throws(ManifestFailure) -> NextItem?
}
