internal import AsyncDownloads
internal import Foundation

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

        /// The path of the file in the output directory.
        let path: String
        var phase = Phase.receiving
        var progress = DownloadProgress()
        /// The number of body bytes received from the network.
        var fetched: Int64 = 0
    }

    /// The active downloads by their IDs, so that lines keep their order.
    private(set) var rows: [Int: Row] = [:]
    private(set) var tally = Tally(total: 0)
    /// The number of files of known length that have started, and the sum of these lengths.
    private(set) var known = (count: 0, bytes: Int64(0))
    private(set) var rate = RunRate()
    /// The hosts that are waited for.
    var waits = HostWaits()
    /// The number of body bytes that ended downloads received from the network.
    private var fetchedBefore: Int64 = 0

    /// The number of body bytes that were received from the network.
    var fetched: Int64 { rows.values.reduce(fetchedBefore) { $0 + $1.fetched } }

    /// Records the number of files that are known so far, and whether they are all.
    mutating func expect(_ count: Int, isComplete: Bool) {
        (tally.total, tally.isTotalKnown) = (count, isComplete)
    }

    /// Measures the rate of the whole run.
    mutating func measure(at now: Duration) {
        rate.add(fetched, at: now)
    }

    /// Updates the display for an event.
    mutating func take(_ event: RunEvent) {
        let id = event.item.id
        guard case .success(let happened) = event.what else {
            tally.failed += 1
            if let total = rows[id]?.progress.expectedByteCount { known = (known.count - 1, known.bytes - total) }
            end(id, fetched: event.fetched)
            return
        }
        switch happened {
        // A waiting download has no line, and an `omitted` event does not change one.
        case .waiting, .omitted: return
        case .started, .progress: waits.remove(event.item.address.url)
        default: break
        }
        var row = rows[id] ?? Row(path: event.item.name.neutralized)
        row.phase = .receiving
        row.fetched = event.fetched
        switch happened {
        case .started(let total, _, _, _):
            if row.progress.expectedByteCount == nil, let total { know(total) }
            row.progress.expectedByteCount = total
        case .resumed(let offset):
            row.progress.receivedByteCount = offset
        case .restarted:
            row.progress = DownloadProgress(expectedByteCount: row.progress.expectedByteCount)
        case .progress(let progress):
            if row.progress.expectedByteCount == nil, let total = progress.expectedByteCount { know(total) }
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
            if row.progress.expectedByteCount == nil { know(file.byteCount) }
            end(id, fetched: event.fetched)
            return
        default:
            break
        }
        rows[id] = row
    }

    private mutating func know(_ length: Int64) {
        known = (known.count + 1, known.bytes + length)
    }

    private mutating func end(_ id: Int, fetched: Int64) {
        fetchedBefore += fetched
        rows[id] = nil
    }
}

extension DownloadError {
    /// The code and the status, as a short text for a narrow column.
    fileprivate var reason: String {
        statusCode.map { "\(code) \($0)" } ?? code.name
    }
}
