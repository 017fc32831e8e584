internal import AsyncDownloads

/// The content of the live display: a line for each active download, and a line of totals.
///
/// It is a value without side effects: events update it, and it returns lines.
struct LiveDisplay: Sendable {
    /// The line of an active download.
    struct Row: Sendable, Hashable {
        enum Phase: Sendable, Hashable {
            case receiving, verifying, paused
            case retrying(at: Duration, reason: String)
        }

        let name: String
        var phase = Phase.receiving
        var progress = DownloadProgress()
    }

    /// The active downloads by their IDs, so that lines keep their order.
    private(set) var rows: [Int: Row] = [:]
    private(set) var tally: Tally

    init(total: Int) {
        tally = Tally(total: total)
    }

    /// Updates the display for an event.
    mutating func take(_ event: RunEvent) {
        let id = event.item.id
        guard case .success(let happened) = event.what else {
            tally.failed += 1
            rows[id] = nil
            return
        }
        switch happened {
        // A waiting download has no line, and an `omitted` event does not change one.
        case .waiting, .omitted: return
        default: break
        }
        var row = rows[id] ?? Row(name: event.item.name.neutralized)
        row.phase = .receiving
        switch happened {
        case .started(let total, _, _, _):
            row.progress.expectedByteCount = total
        case .resumed(let offset):
            row.progress.receivedByteCount = offset
        case .restarted:
            row.progress = DownloadProgress(expectedByteCount: row.progress.expectedByteCount)
        case .progress(let progress):
            row.progress = progress
        case .retrying(_, let delay, let error):
            row.phase = .retrying(at: event.time + delay, reason: error.reason)
        case .paused(let received):
            row.phase = .paused
            row.progress.receivedByteCount = received
        case .verifying:
            row.phase = .verifying
        case .finished(let file):
            tally.finished += 1
            tally.bytes += file.byteCount
            rows[id] = nil
            return
        default:
            break
        }
        rows[id] = row
    }
}

extension DownloadError {
    /// The code and the status, as a short text for a narrow column.
    fileprivate var reason: String {
        statusCode.map { "\(code) \($0)" } ?? code.name
    }
}
