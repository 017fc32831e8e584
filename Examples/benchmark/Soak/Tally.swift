internal import AsyncDownloads

/// The results of the downloads so far.
final class Tally: Sendable {
    /// The counters and the descriptions of errors.
    struct Counts: Sendable {
        var begun = 0
        var ended = 0
        /// The number of downloads that joined a running transfer.
        var joined = 0
        /// The number of downloads by their outcomes.
        var outcomes: [String: Int] = [:]
        /// The number of received events by their names.
        var events: [String: Int] = [:]
        /// The descriptions of the first errors; ``wrongCount`` is the number of all errors.
        var wrong: [String] = []
        var wrongCount = 0

        var findings: [String] {
            let more = wrongCount - wrong.count
            return more > 0 ? wrong + ["\(more) more like these"] : wrong
        }
    }

    private struct WeakHandle: Sendable {
        weak var download: Download?
    }

    private struct State {
        var counts = Counts()
        var handles: [WeakHandle] = []
    }

    private static let remembered = 20

    private let state = Mutex(State())

    var counts: Counts { state.withLock { $0.counts } }

    func begin(_ download: Download) {
        state.withLock { state in
            state.counts.begun += 1
            if download.isCoalesced { state.counts.joined += 1 }
            state.handles.append(WeakHandle(download: download))
        }
    }

    func end(_ download: Download, _ outcome: Outcome) {
        state.withLock { state in
            state.counts.ended += 1
            state.counts.outcomes[outcome.ending, default: 0] += 1
        }
    }

    func add(_ record: StreamRecord) {
        state.withLock { $0.counts.events.merge(record.counts, uniquingKeysWith: +) }
    }

    func note(_ wrong: String) {
        state.withLock { state in
            state.counts.wrongCount += 1
            if state.counts.wrong.count < Self.remembered { state.counts.wrong.append(wrong) }
        }
    }

    /// Returns the number of `Download` objects that are still in memory, and removes the references to the others.
    func countHandles() -> Int {
        state.withLock { state in
            state.handles.removeAll { $0.download == nil }
            return state.handles.count
        }
    }
}
