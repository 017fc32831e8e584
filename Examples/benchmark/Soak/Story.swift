#if ServerStack
internal import AsyncDownloads

/// What a stream told, and how it ended.
struct Story: Sendable {
    /// How often each event was told.
    private(set) var counts: [String: Int] = [:]
    /// How it ended; nil where it did without saying so.
    private(set) var outcome: Outcome?

    /// How often the file was said to be there.
    var finishCount: Int { counts["finished", default: 0] }

    /// Listens to the end.
    init(of download: Download) async {
        do {
            for try await event in download.events {
                counts[event.name, default: 0] += 1
                if case .finished(let file) = event { outcome = .success(file) }
            }
        } catch let error as DownloadError {
            outcome = .failure(error)
        } catch {
            preconditionFailure("a download ends with a DownloadError, not \(error)")
        }
    }
}

extension DownloadEvent {
    fileprivate var name: String {
        switch self {
        case .waiting: "waiting"
        case .started: "started"
        case .resumed: "resumed"
        case .restarted: "restarted"
        case .progress: "progress"
        case .retrying: "retrying"
        case .paused: "paused"
        case .released: "released"
        case .omitted: "omitted"
        case .verifying: "verifying"
        case .finished: "finished"
        }
    }
}
#endif
