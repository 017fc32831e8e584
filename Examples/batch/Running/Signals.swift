internal import AsyncDownloads
internal import Dispatch
internal import Foundation

/// The handlers of the signals that stop and suspend a run.
///
/// The first SIGINT or SIGTERM stops the run in order, and the second ends the process immediately.
final class Signals: Sendable {
    /// The exit status of an interrupted run.
    static let exitStatus: Int32 = 130

    private let sources: Mutex<[any DispatchSourceSignal]>

    /// Installs the handlers.
    ///
    /// - Parameter stop: A closure that is called once, at the first SIGINT or SIGTERM.
    init(_ stop: @escaping @Sendable () async -> Void) {
        // A closed pipe or a file at its size limit must be an error of a write, not the end of the process.
        for number in [SIGPIPE, SIGXFSZ] { signal(number, SIG_IGN) }
        let count = Mutex(0)
        let queue = DispatchQueue(label: "batch.signals")
        func source(_ number: Int32, _ handler: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler(handler: handler)
            source.activate()
            return source
        }
        let end: @Sendable () -> Void = {
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            if isFirst {
                Task { await stop() }
            } else {
                Terminal.restore()
                _exit(Signals.exitStatus)
            }
        }
        let suspend: @Sendable () -> Void = {
            // The shell gets the terminal, and needs a visible cursor.
            Terminal.restore()
            kill(getpid(), SIGSTOP)
        }
        sources = Mutex([source(SIGINT, end), source(SIGTERM, end), source(SIGTSTP, suspend)])
    }

    /// Removes the handlers.
    func cancel() {
        sources.withLock { sources in
            for source in sources { source.cancel() }
            sources = []
        }
    }
}
