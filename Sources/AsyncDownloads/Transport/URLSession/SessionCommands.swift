internal import Foundation

/// Tells a session things, one after the other, on a thread of its own while there are any.
///
/// On Linux whoever tells a session something waits until it has read what there is, which with trailers without end is
/// for ever. Dispatch's threads would not do: a process has 255, and the sessions that are waited for need them, too.
final class SessionCommands: Sendable {
    private struct State {
        var commands: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let state = Mutex(State())

    /// Carries out `command` after all earlier ones.
    func add(_ command: @escaping @Sendable () -> Void) {
        let isFirst = state.withLock { state in
            state.commands.append(command)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if isFirst { Thread.detachNewThread { [self] in run() } }
    }

    private func run() {
        while let commands = take() {
            for command in commands { command() }
        }
    }

    private func take() -> [@Sendable () -> Void]? {
        state.withLock { state in
            defer { state.commands = [] }
            state.isRunning = !state.commands.isEmpty
            return state.isRunning ? state.commands : nil
        }
    }
}
