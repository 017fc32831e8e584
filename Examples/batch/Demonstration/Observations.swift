#if ServerStack
internal import AsyncDownloads

/// What was seen of each download of the demonstration; it also pauses and resumes the one for which that is meant.
final class Observations: Sendable {
    /// What was seen of one.
    struct Sight: Sendable, Hashable {
        var resumedAt: [Int64] = []
        var retryDelays: [Duration] = []
        var retryStatus: Int?
        var pausedAt: [Int64] = []
        var fetched: Int64 = 0
    }

    private let sights = Mutex<[Int: Sight]>([:])
    private let idToPause: Int?

    init(idToPause: Int?) {
        self.idToPause = idToPause
    }

    /// What was seen of the download.
    subscript(id: Int) -> Sight { sights.withLock { $0[id] ?? Sight() } }

    /// Takes what a download told.
    func take(_ event: RunEvent, _ download: Download) {
        guard case .success(let happened) = event.what else { return }
        let sight = sights.withLock { sights in
            sights[event.item.id, default: Sight()].take(happened, fetched: event.fetched)
            return sights[event.item.id] ?? Sight()
        }
        guard event.item.id == idToPause else { return }
        switch happened {
        // The server sends no more for now, so that this is never too late.
        case .progress(let progress) where progress.receivedByteCount >= Exhibit.interruption && sight.pausedAt.isEmpty:
            download.pause()
        case .paused: download.resume()
        default: break
        }
    }
}

extension Observations.Sight {
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
