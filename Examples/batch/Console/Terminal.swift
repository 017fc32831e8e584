#if ServerStack
internal import Foundation

/// What standard error leads to.
struct Terminal: Sendable, Hashable {
    /// Whether lines can be drawn over: it is a terminal, and no dumb one.
    var isInteractive: Bool
    var usesColor: Bool

    /// Reads the surroundings.
    static var current: Self {
        let environment = ProcessInfo.processInfo.environment
        let isInteractive = isatty(STDERR_FILENO) == 1 && environment["TERM"] != "dumb"
        // https://no-color.org: any value but an empty one.
        return Self(isInteractive: isInteractive, usesColor: isInteractive && (environment["NO_COLOR"] ?? "").isEmpty)
    }

    /// Whether standard output is seen by somebody at a terminal.
    static var showsStandardOutput: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Columns and rows, as they are now.
    static var size: (columns: Int, rows: Int) {
        var size = winsize()
        _ = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size)
        let environment = ProcessInfo.processInfo.environment
        func either(_ told: UInt16, _ name: String, _ usual: Int) -> Int {
            if told > 0 { return Int(told) }
            let value = environment[name].flatMap { Int($0) } ?? usual
            return 1...10_000 ~= value ? value : usual
        }
        return (either(size.ws_col, "COLUMNS", 80), either(size.ws_row, "LINES", 24))
    }

    static let hideCursor = "\u{1B}[?25l"
    static let showCursor = "\u{1B}[?25h"

    /// Makes the cursor visible again, from any thread, before the process ends.
    static func restore() {
        if current.isInteractive { StandardError.write(showCursor) }
    }
}

/// The stream for people.
enum StandardError {
    static func write(_ text: String) {
        // Nobody is left to be told that nobody listens.
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }
}

/// The stream for programs.
enum StandardOutput {
    static func write(_ text: String) {
        // A reader that has seen enough, such as head(1), does not end the downloads.
        try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    }
}
#endif
