#if ServerStack
internal import AsyncDownloads

/// What must not be there any more once a downloader was shut down and let go of.
///
/// A transfer, a timer or a callback that is left holds the engine, since each transfer does; so the engine's end is
/// theirs too.
struct Remains: Sendable {
    private let tally: Tally
    private weak var downloader: Downloader?
    private weak var transport: (any Transport & AnyObject)?

    init(tally: Tally, downloader: Downloader, transport: any Transport) {
        self.tally = tally
        self.downloader = downloader
        self.transport = transport as AnyObject as? any Transport & AnyObject
    }

    /// What is there all the same, after a while in which queues may run empty.
    func findings() async -> [String] {
        for _ in 0..<100 {
            if found.isEmpty { return [] }
            // Cut short where the process is being ended.
            try? await Task.sleep(for: .milliseconds(100))
        }
        return found
    }

    private var found: [String] {
        var found: [String] = []
        let handles = tally.countHandles()
        if handles > 0 { found.append("\(handles) handles are still alive") }
        if downloader != nil { found.append("the downloader is still alive") }
        if transport != nil { found.append("the engine is still alive, held by a transfer, a timer or a callback") }
        return found
    }
}
#endif
