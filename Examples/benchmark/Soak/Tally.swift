#if ServerStack
internal import AsyncDownloads

/// What has come of the downloads so far.
final class Tally: Sendable {
    /// What was counted.
    struct Counts: Sendable {
        var begun = 0
        var ended = 0
        var joined = 0
        /// How often each end came.
        var outcomes: [String: Int] = [:]
        /// How often each event was heard.
        var events: [String: Int] = [:]
        /// What was wrong with the first of those with which something was.
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

    func add(_ story: Story) {
        state.withLock { $0.counts.events.merge(story.counts, uniquingKeysWith: +) }
    }

    func note(_ wrong: String) {
        state.withLock { state in
            state.counts.wrongCount += 1
            if state.counts.wrong.count < Self.remembered { state.counts.wrong.append(wrong) }
        }
    }

    /// How many handles are still alive; the others are forgotten.
    func countHandles() -> Int {
        state.withLock { state in
            state.handles.removeAll { $0.download == nil }
            return state.handles.count
        }
    }
}
#endif
