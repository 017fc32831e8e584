#if ServerStack
internal import AsyncDownloads

/// What was seen of each download of the demonstration; it also pauses and resumes the one for which that is meant.
final class Observations: Sendable {
    /// What was seen of one.
    struct DemoObservation: Sendable, Hashable {
        var resumedAt: [Int64] = []
        var retryDelays: [Duration] = []
        var retryStatus: Int?
        var pausedAt: [Int64] = []
        var fetched: Int64 = 0
    }

    private let observations = Mutex<[Int: DemoObservation]>([:])
    private let idToPause: Int?

    init(idToPause: Int?) {
        self.idToPause = idToPause
    }

    /// What was seen of the download.
    subscript(id: Int) -> DemoObservation { observations.withLock { $0[id] ?? DemoObservation() } }

    /// Takes what a download told.
    func take(_ event: RunEvent, _ download: Download) {
        guard case .success(let happened) = event.what else { return }
        let observation = observations.withLock { observations in
            observations[event.item.id, default: DemoObservation()].take(happened, fetched: event.fetched)
            return observations[event.item.id] ?? DemoObservation()
        }
        guard event.item.id == idToPause else { return }
        switch happened {
        // The server sends no more for now, so that this is never too late.
        case .progress(let progress)
        where progress.receivedByteCount >= DemoFile.interruption && observation.pausedAt.isEmpty:
            download.pause()
        case .paused: download.resume()
        default: break
        }
    }
}

extension Observations.DemoObservation {
    fileprivate mutating func take(_ event: DownloadEvent, fetched: Int64) {
        self.fetched = fetched
        switch event {
        case .resumed(let offset): resumedAt.append(offset)
        case .paused(let received): pausedAt.append(received)
        case .retrying(_, let delay, let error):
            retryDelays.append(delay)
            retryStatus = error.statusCode
        default: break
        }
    }
}
#endif
