internal import AsyncDownloads

/// The events of a download's stream, by their numbers, and the outcome of the stream.
struct StreamRecord: Sendable {
    /// The number of received events by their names.
    private(set) var counts: [String: Int] = [:]
    /// The outcome; nil if the stream ended without a terminal event or an error.
    private(set) var outcome: Outcome?

    /// The number of `finished` events.
    var finishCount: Int { counts["finished", default: 0] }

    /// Reads the events of a download until the stream ends.
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
