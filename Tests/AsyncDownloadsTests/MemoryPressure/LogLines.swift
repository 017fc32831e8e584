@testable import AsyncDownloads

/// Lines of a log.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    /// Waits until there is one.
    func any() async {
        while all.isEmpty { await Task.yield() }
    }

    @Sendable func append(_ line: String) { lines.withLock { $0.append(line) } }
}
