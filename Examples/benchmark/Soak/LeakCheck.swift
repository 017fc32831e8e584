internal import AsyncDownloads

/// The objects that must be deallocated after a downloader was shut down and released.
///
/// Each transfer retains the transport. The deallocation of the transport therefore shows that no transfer, timer, or
/// callback is left.
struct LeakCheck: Sendable {
    private let tally: Tally
    private weak var downloader: Downloader?
    private weak var transport: (any Transport & AnyObject)?

    init(tally: Tally, downloader: Downloader, transport: any Transport) {
        self.tally = tally
        self.downloader = downloader
        self.transport = transport as AnyObject as? any Transport & AnyObject
    }

    /// Waits until the objects are deallocated, at most two minutes, and describes those that are still alive.
    func findings() async -> [String] {
        for _ in 0..<1200 {
            if found.isEmpty { return [] }
            // The sleep throws only if the task is canceled, which shortens the wait.
            try? await Task.sleep(for: .milliseconds(100))
        }
        return found
    }

    private var found: [String] {
        var found: [String] = []
        let handles = tally.countHandles()
        if handles > 0 { found.append("\(handles) downloads are still in memory") }
        if downloader != nil { found.append("the downloader is still in memory") }
        if transport != nil {
            found.append("the transport is still in memory, retained by a transfer, a timer, or a callback")
        }
        return found
    }
}
