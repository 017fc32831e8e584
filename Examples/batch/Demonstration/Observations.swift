internal import AsyncDownloads

/// The observations of the demonstration's downloads; it also pauses and resumes one of them, and releases the response
/// for downloads that share a transfer.
final class Observations: Sendable {
    /// The observations of one download.
    struct DemoObservation: Sendable, Hashable {
        var resumedAt: [Int64] = []
        var retryDelays: [Duration] = []
        var retryStatus: Int?
        var pausedAt: [Int64] = []
        var fetched: Int64 = 0
        /// The numbers of bytes that were released from memory.
        var released: [Int64] = []
        /// The number of bytes that were on disk after a release from memory or after a cancellation.
        var keptOnDisk: Int64 = 0
        /// Whether the finished file has the bytes of the server's resource.
        var hasRightBytes = false
    }

    private let observations = Mutex<[Int: DemoObservation]>([:])
    private let idToPause: Int?
    /// The downloads that share a transfer and haven't emitted an event.
    private let unstarted: Mutex<Set<Int>>
    private let whenShared: @Sendable () async -> Void

    /// - Parameters:
    ///   - idToPause: The ID of the download to pause and resume.
    ///   - sharedIDs: The IDs of the downloads that share a transfer.
    ///   - whenShared: A closure that is called once, when all of these have started.
    init(idToPause: Int?, sharedIDs: Set<Int>, whenShared: @escaping @Sendable () async -> Void) {
        self.idToPause = idToPause
        unstarted = Mutex(sharedIDs)
        self.whenShared = whenShared
    }

    /// The observations of the download with this ID.
    subscript(id: Int) -> DemoObservation { observations.withLock { $0[id] ?? DemoObservation() } }

    /// Records an event of a download, and pauses or resumes the download if it is the chosen one.
    func take(_ event: RunEvent, _ download: Download) {
        guard case .success(let happened) = event.what else { return }
        let observation = observations.withLock { observations in
            observations[event.item.id, default: DemoObservation()].take(happened, fetched: event.fetched)
            return observations[event.item.id] ?? DemoObservation()
        }
        let isLastStart = unstarted.withLock { $0.remove(event.item.id) != nil && $0.isEmpty }
        if isLastStart { Task { await whenShared() } }
        guard event.item.id == idToPause else { return }
        switch happened {
        // The server has stalled the body at this offset, so the pause cannot come too late.
        case .progress(let progress)
        where progress.receivedByteCount >= DemoFile.interruption && observation.pausedAt.isEmpty:
            download.pause()
        case .paused: download.resume()
        default: break
        }
    }
}

extension Observations.DemoObservation {
    /// Records an event.
    mutating func take(_ event: DownloadEvent, fetched: Int64) {
        self.fetched = fetched
        switch event {
        case .resumed(let offset): resumedAt.append(offset)
        case .paused(let received): pausedAt.append(received)
        case .released(let count, let isOnDisk):
            released.append(count)
            if isOnDisk { keptOnDisk += count }
        case .retrying(_, let delay, let error):
            retryDelays.append(delay)
            retryStatus = error.statusCode
        default: break
        }
    }
}
