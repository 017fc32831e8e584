@testable import AsyncDownloads

/// A recorder of log lines.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    /// Waits for the first line.
    func any() async {
        while all.isEmpty { await Task.yield() }
    }

    @Sendable func append(_ line: String) { lines.withLock { $0.append(line) } }
}
