internal import AsyncDownloads
internal import Foundation

/// The properties of the terminal, if any, that standard error leads to.
struct Terminal: Sendable, Hashable {
    /// Whether standard error is a terminal that supports cursor movement.
    var isInteractive: Bool
    /// Whether text is colored.
    var usesColor: Bool

    /// The properties according to standard error and the environment.
    static var current: Self {
        let environment = ProcessInfo.processInfo.environment
        let isInteractive = isatty(STDERR_FILENO) == 1 && !["", "dumb"].contains(environment["TERM"] ?? "")
        // NO_COLOR counts unless it is empty (https://no-color.org).
        return Self(isInteractive: isInteractive, usesColor: isInteractive && (environment["NO_COLOR"] ?? "").isEmpty)
    }

    /// Whether standard output is a terminal.
    static var showsStandardOutput: Bool { isatty(STDOUT_FILENO) == 1 }

    /// The current number of columns and rows.
    static var size: (columns: Int, rows: Int) {
        var size = winsize()
        _ = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size)
        let environment = ProcessInfo.processInfo.environment
        func dimension(_ reported: UInt16, variable name: String, usual: Int) -> Int {
            if reported > 0 { return Int(reported) }
            let value = environment[name].flatMap { Int($0) } ?? usual
            return 1...10_000 ~= value ? value : usual
        }
        return (
            dimension(size.ws_col, variable: "COLUMNS", usual: 80),
            dimension(size.ws_row, variable: "LINES", usual: 24)
        )
    }

    static let hideCursor = "\u{1B}[?25l"
    static let showCursor = "\u{1B}[?25h"

    /// Makes the cursor visible before the process exits or is suspended; can be called from any thread.
    static func restore() {
        if current.isInteractive { StandardError.write(showCursor) }
    }
}

/// The stream for human-readable output.
enum StandardError {
    static func write(_ text: String) {
        // An error is ignored, because no other stream for error messages exists.
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }
}

/// The stream for machine-readable output.
enum StandardOutput {
    private static let firstFailure = Mutex<Misuse?>(nil)

    /// The reason why output was lost; nil if nothing was lost, or if the reader has ended.
    static var failure: Misuse? { firstFailure.withLock { $0 } }

    static func write(_ text: String) {
        let file = OutputFile(descriptor: STDOUT_FILENO, path: "standard output")
        // A reader that exits early, such as head(1), must not end the downloads.
        guard let number = file.tryToWrite(Array(text.utf8)), number != EPIPE else { return }
        firstFailure.withLock { $0 = $0 ?? file.failure(number) }
    }
}
