@testable import AsyncDownloads

extension EventLog {
    /// Creates a log from recorded events.
    init(events: [DownloadEvent], error: DownloadError?) {
        self.events = events
        self.error = error
    }

    /// The violations of the invariants of every download's events (rules 55 and 56).
    var faults: [String] { faults(isDivided: false) }

    /// Returns the violations.
    ///
    /// - Parameter isDivided: Whether bytes behind the offset at which the download resumes may have been received.
    func faults(isDivided: Bool) -> [String] {
        var faults: [String] = []
        var received: Int64 = 0
        for (index, event) in events.enumerated() {
            switch event {
            case .restarted:
                received = 0
            case .progress(let progress):
                if progress.receivedByteCount < received { faults.append("progress went backwards at \(index)") }
                received = progress.receivedByteCount
            case .paused(let count):
                if count < received { faults.append("bytes were lost at \(index)") }
            case .resumed(let offset):
                if offset < received, !isDivided { faults.append("bytes were lost at \(index)") }
            case .finished:
                if index != events.count - 1 { faults.append("something followed the end at \(index)") }
                if error != nil { faults.append("a finished event and an error") }
            default:
                break
            }
        }
        if error == nil, file == nil { faults.append("neither a file nor an error") }
        return faults
    }
}
