internal import Foundation

/// A serial queue of calls to a session, run on a separate thread that exists while the queue isn't empty.
///
/// On Linux, a call to a session blocks until the session has read all available bytes, which never happens if a server
/// sends endless trailers. The calls don't run on Dispatch's threads, because a process has at most 255 of them, which
/// the sessions also need.
final class SessionCommands: Sendable {
    private struct State {
        var commands: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let state = Mutex(State())

    /// Runs `command` after all earlier ones.
    func add(_ command: @escaping @Sendable () -> Void) {
        let isFirst = state.withLock { state in
            state.commands.append(command)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if isFirst { Thread.detachNewThread { [self] in run() } }
    }

    private func run() {
        while let commands = dequeueAll() {
            for command in commands { command() }
        }
    }

    private func dequeueAll() -> [@Sendable () -> Void]? {
        state.withLock { state in
            defer { state.commands = [] }
            state.isRunning = !state.commands.isEmpty
            return state.isRunning ? state.commands : nil
        }
    }
}
