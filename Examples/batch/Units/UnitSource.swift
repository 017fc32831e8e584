internal import AsyncDownloads
internal import Foundation

/// The items of the units of a task.
struct UnitSource: ItemSource {
    let run: UnitRun

    var knownCount: Int { run.knownCount }
    /// The index contains the number of all items.
    var isComplete: Bool { true }
    var cancellation: @Sendable () -> Void { { [run] in Task { await run.cancel() } } }

    func next() async throws(ManifestFailure) -> NextItem? { try await run.next() }
}
