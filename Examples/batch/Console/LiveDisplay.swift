#if ServerStack
internal import AsyncDownloads

/// What a live display shows: a line for each download that does something, and one for all of them.
///
/// A value: events go in, lines come out.
struct LiveDisplay: Sendable {
    /// A download that does something.
    struct Row: Sendable, Hashable {
        enum Phase: Sendable, Hashable {
            case receiving, verifying, paused
            case retrying(at: Duration, reason: String)
        }

        let name: String
        var phase = Phase.receiving
        var progress = DownloadProgress()
    }

    /// By number, so that lines keep their places.
    private(set) var rows: [Int: Row] = [:]
    private(set) var tally: Tally

    init(total: Int) {
        tally = Tally(total: total)
    }

    /// Takes what happened.
    mutating func take(_ event: RunEvent) {
        let id = event.item.id
        guard case .success(let happened) = event.what else {
            tally.failed += 1
            rows[id] = nil
            return
        }
        switch happened {
        // A download that waits for its turn has no line, and events that were left out change none.
        case .waiting, .omitted: return
        default: break
        }
        var row = rows[id] ?? Row(name: event.item.name.neutralised)
        row.phase = .receiving
        switch happened {
        case .started(let total, _):
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
    /// The code and the status, for a place where there is no room for more.
    fileprivate var reason: String {
        statusCode.map { "\(code) \($0)" } ?? code.name
    }
}
#endif
