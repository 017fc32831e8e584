#if ServerStack
internal import AsyncDownloads
internal import Dispatch
internal import Foundation

/// The signals that ask for an end: the first stops in order, the second at once; and the one that suspends.
final class Signals: Sendable {
    /// The exit status of an interrupted run.
    static let exitStatus: Int32 = 130

    private let sources: Mutex<[any DispatchSourceSignal]>

    /// Takes over from now on.
    ///
    /// - Parameter stop: Called once, at the first signal.
    init(_ stop: @escaping @Sendable () async -> Void) {
        // A reader that has gone, and a file at its limit, are errors to be told, not the end of every download.
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
            // The shell that comes next needs its cursor.
            Terminal.restore()
            kill(getpid(), SIGSTOP)
        }
        sources = Mutex([source(SIGINT, end), source(SIGTERM, end), source(SIGTSTP, suspend)])
    }

    /// Listens no more.
    func cancel() {
        sources.withLock { sources in
            for source in sources { source.cancel() }
            sources = []
        }
    }
}
#endif
