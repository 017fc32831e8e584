#if !canImport(os)
internal import Logging

@testable import AsyncDownloads

/// A log backend that records all lines that the package logs in this process.
final class LogRecorder: Sendable {
    /// The recorder, which is installed at its first use because a process can select its backend only once.
    static let shared: LogRecorder = {
        let recorder = LogRecorder()
        LoggingSystem.bootstrap { _ in Handler(recorder: recorder) }
        return recorder
    }()

    private let recorded = Mutex([String]())
    private let hooks = Mutex<[String: @Sendable () -> Void]>([:])

    /// Calls `body` inside the backend for each line that contains `mark`.
    func whenLogged(_ mark: String, _ body: @escaping @Sendable () -> Void) {
        hooks.withLock { $0[mark] = body }
    }

    private func call(_ line: String) {
        for hook in hooks.withLock({ hooks in hooks.filter { line.contains($0.key) }.map(\.value) }) { hook() }
    }

    /// Returns the recorded lines that contain `mark`.
    func lines(with mark: String) -> [String] {
        recorded.withLock { $0.filter { $0.contains(mark) } }
    }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let line = "\(event.message) \(event.metadata ?? [:])"
            recorder.recorded.withLock { $0.append(line) }
            recorder.call(line)
        }
    }
}
#endif
