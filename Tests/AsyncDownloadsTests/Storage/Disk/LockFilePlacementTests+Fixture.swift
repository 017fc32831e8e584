internal import Dispatch
internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

extension LockFilePlacementTests {
    /// A partial that has all its bytes.
    struct FilledPartial: Sendable {
        let partial: PartialFile
        let lockName: String
        let destination: String
    }

    func store(
        _ volume: VolumeKind = .diskWithSharedSyncs, durability: Durability = .powerLoss
    ) throws -> PartialStore {
        var files = PretendingFileSystem(locks: .pretended, volume: volume)
        let (log, path) = (log, directory.path)
        files.syncing = { log.syncs(file: $0) }
        files.refusal = { opened, purpose in
            // Only a sync opens the directory for reading and writing.
            opened == path && purpose == .existing ? log.syncsDirectory() : nil
        }
        return PartialStore(disk: files, durability: durability, bootID: "boot", bufferedLength: SampleObject.length)
    }

    func open(_ count: Int, in store: PartialStore, directory path: String? = nil) throws -> [FilledPartial] {
        try (0..<count).map { number in
            var location = PartialLocation.sample(in: path ?? directory.path)
            location.baseName = "file\(number)"
            location.request.destination = location.baseName
            let partial = try store.open(location)
            try partial.begin(SampleObject.first.representation)
            try partial.write(.first, 0..<1000)
            return FilledPartial(
                partial: partial, lockName: PartialNames.lastComponent(of: store.names(of: location).lock),
                destination: "\(location.directory)/\(location.baseName)")
        }
    }

    func place(
        _ partials: some Sequence<FilledPartial>, _ log: PlacementLog, at target: PlacementTarget? = nil
    ) {
        for partial in partials {
            let target = target ?? PlacementTarget(path: partial.destination)
            let results = partial.partial.place(at: [target], length: 1000, ifWanted: { true }) { log.add($0[0]) }
            #expect(results == nil, "nothing waits for the disk")
        }
    }

    /// Places the first file, and all others while the first one is being synced.
    ///
    /// - Parameter change: A closure that is called before the sync of the first file ends.
    func placeWhileBlocked(
        _ partials: [FilledPartial], _ placements: PlacementLog, _ change: () -> Void = {}
    ) async {
        log.block(partials[0].lockName)
        place(partials[...0], placements)
        await log.isBlocked()
        place(partials[1...], placements)
        change()
        log.unblock()
    }

    func lockFilePlacement(of partial: PartialFile, at target: PlacementTarget) throws -> LockFilePlacement {
        try #require(try partial.lockFilePlacement([target], SampleObject.first.representation.length ?? 0))
    }

    func signaled(_ semaphore: DispatchSemaphore) async {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "waits").async {
                semaphore.wait()
                continuation.resume()
            }
        }
    }
}

/// The results of placements, in the order of their arrival.
final class PlacementLog: Sendable {
    private let state = Mutex<[Result<String, DownloadError>]>([])

    func add(_ result: Result<String, DownloadError>) { state.withLock { $0.append(result) } }

    /// Returns the results when there are at least `count`.
    func results(count: Int) async -> [Result<String, DownloadError>] {
        while true {
            let results = state.withLock { $0 }
            if results.count >= count { return results }
            await Task.yield()
        }
    }
}
