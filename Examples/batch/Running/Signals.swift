internal import AsyncDownloads
internal import Dispatch
internal import Foundation

/// The handlers of the signals that stop and suspend a run.
///
/// The first SIGINT, SIGTERM, or SIGHUP stops the run in order, and the second ends the process immediately.
final class Signals: Sendable {
    private let sources: Mutex<[any DispatchSourceSignal]>
    private let first: FirstSignal

    /// The signal that has stopped the run.
    private final class FirstSignal: Sendable {
        private let first = Mutex<(number: Int32, time: ContinuousClock.Instant)?>(nil)

        var value: Int32? { first.withLock { $0?.number } }

        /// Records a signal, and returns the first one if this is another.
        ///
        /// Engines of clusters send SIGTERM to all processes of a task, whose script passes it on as well.
        func take(_ signal: Int32) -> Int32? {
            first.withLock { first in
                guard let earlier = first else {
                    first = (signal, .now)
                    return nil
                }
                let isSame = signal == SIGTERM && earlier.number == SIGTERM && .now - earlier.time < .seconds(1)
                return isSame ? nil : earlier.number
            }
        }
    }

    /// The signal that has stopped the run; nil if there was none.
    var received: Int32? { first.value }

    /// The exit status of a run that a signal has stopped.
    static func exitStatus(of signal: Int32) -> Int32 { 128 + signal }

    /// Installs the handlers.
    ///
    /// SIGHUP stays ignored if it is, as with nohup(1).
    ///
    /// - Parameter stop: A closure that is called once, at the first signal that stops the run.
    init(_ stop: @escaping @Sendable () async -> Void) {
        // A closed pipe or a file at its size limit must be an error of a write, not the end of the process.
        for number in [SIGPIPE, SIGXFSZ] { signal(number, SIG_IGN) }
        let first = FirstSignal()
        let queue = DispatchQueue(label: "batch.signals")
        func source(_ number: Int32, _ handler: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler(handler: handler)
            source.activate()
            return source
        }
        func ending(_ number: Int32) -> any DispatchSourceSignal {
            source(number) {
                if let earlier = first.take(number) {
                    Terminal.restore()
                    _exit(Self.exitStatus(of: earlier))
                }
                // A session stops only once.
                Task { await stop() }
            }
        }
        let suspend: @Sendable () -> Void = {
            // The shell gets the terminal, and needs a visible cursor.
            Terminal.restore()
            kill(getpid(), SIGSTOP)
        }
        var sources = [ending(SIGINT), ending(SIGTERM), source(SIGTSTP, suspend)]
        if !Self.wasIgnored(SIGHUP) { sources.append(ending(SIGHUP)) }
        self.first = first
        self.sources = Mutex(sources)
    }

    /// Ignores a signal, and returns whether it was ignored before.
    private static func wasIgnored(_ number: Int32) -> Bool {
        let previous = signal(number, SIG_IGN)
        return unsafeBitCast(previous, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Removes the handlers.
    func cancel() {
        sources.withLock { sources in
            for source in sources { source.cancel() }
            sources = []
        }
    }
}
