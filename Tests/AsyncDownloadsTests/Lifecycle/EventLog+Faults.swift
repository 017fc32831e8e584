@testable import AsyncDownloads

extension EventLog {
    /// What was heard elsewhere.
    init(events: [DownloadEvent], error: DownloadError?) {
        self.events = events
        self.error = error
    }

    /// What no download may tell, whatever happened to it (rules 55 and 56).
    var faults: [String] {
        var faults: [String] = []
        var received: Int64 = 0
        for (index, event) in events.enumerated() {
            switch event {
            case .restarted:
                received = 0
            case .progress(let progress):
                if progress.receivedByteCount < received { faults.append("progress went backwards at \(index)") }
                received = progress.receivedByteCount
            case .paused(let count), .resumed(let count):
                if count < received { faults.append("bytes were lost at \(index)") }
            case .finished:
                if index != events.count - 1 { faults.append("something followed the end at \(index)") }
                if error != nil { faults.append("finished, and an error as well") }
            default:
                break
            }
        }
        if error == nil, file == nil { faults.append("neither a file nor an error") }
        return faults
    }
}
