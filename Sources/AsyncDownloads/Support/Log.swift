internal import struct Foundation.URL

#if ServerStack
internal import Logging
#endif
#if canImport(os)
internal import os
#endif

/// A log for operators.
///
/// Its messages go to the closure or the logger of the configuration or, without one, to the unified log on Apple's
/// platforms and to swift-log elsewhere. On Linux without the trait `ServerStack`, nothing is logged then.
struct Log: Sendable {
    /// Writes a message of a level, which is created if messages of this level are written.
    private let output: @Sendable (LogMessage.Level, () -> LogMessage) -> Void

    /// Creates a log of the system.
    init() {
        #if canImport(os)
        let logger = os.Logger(subsystem: "io.github.async-downloads", category: "transfer")
        output = { logger.write($1()) }
        #elseif ServerStack
        self.init(Logging.Logger(label: "async-downloads"))
        #else
        output = { _, _ in }
        #endif
    }

    /// Creates a log that passes its messages to a closure.
    init(_ body: @escaping @Sendable (LogMessage) -> Void) {
        output = { body($1()) }
    }

    #if ServerStack
    /// Creates a log that writes to a logger.
    init(_ logger: Logging.Logger) {
        output = { level, message in if logger.writes(level) { logger.write(message()) } }
    }
    #endif

    /// Logs an event in the normal course of a transfer.
    func debug(_ text: @autoclosure () -> String, _ error: (any Error)? = nil, url: URL? = nil) {
        log(.debug, text, error, url)
    }

    /// Logs an event that had a cost, such as a failure or discarded bytes.
    func notice(_ text: @autoclosure () -> String, _ error: (any Error)? = nil, url: URL? = nil) {
        log(.notice, text, error, url)
    }

    private func log(_ level: LogMessage.Level, _ text: () -> String, _ error: (any Error)?, _ url: URL?) {
        output(level) { LogMessage(text(), level: level, error: error.map { "\($0)" }, url: url?.redacted) }
    }
}

#if canImport(os)
extension os.Logger {
    fileprivate func write(_ message: LogMessage) {
        let (text, details) = (message.text, message.details)
        switch message.level {
        case .debug: debug("\(text, privacy: .public)\(details, privacy: .private)")
        case .notice: notice("\(text, privacy: .public)\(details, privacy: .private)")
        }
    }
}
#endif

#if ServerStack
extension Logging.Logger {
    fileprivate func writes(_ level: LogMessage.Level) -> Bool { logLevel <= Self.level(level) }

    private static func level(_ level: LogMessage.Level) -> Level {
        switch level {
        case .debug: .debug
        case .notice: .notice
        }
    }

    fileprivate func write(_ message: LogMessage) {
        var metadata: Metadata = [:]
        metadata["url"] = message.url.map { .string($0) }
        metadata["error"] = message.error.map { .string($0) }
        log(level: Self.level(message.level), "\(message.text)", metadata: metadata)
    }
}
#endif

/// A message for the operator of a program, for example about discarded bytes.
///
/// It contains no secrets: neither header values nor the user, the query, or the fragment of a URL.
public struct LogMessage: Sendable, Hashable, CustomStringConvertible {
    /// The importance of a message.
    public enum Level: Sendable, Hashable, CaseIterable {
        /// An event in the normal course of a download.
        case debug
        /// An event that had a cost, such as a failure or discarded bytes.
        case notice
    }

    /// The importance of the message.
    public var level: Level

    /// A description of the event, without the names of hosts and files.
    public var text: String

    /// The description of the error that is the reason, which may contain the names of hosts and files.
    public var error: String?

    /// The scheme, host, port, and path of the download's URL.
    public var url: String?

    /// Creates a message.
    public init(_ text: String, level: Level = .notice, error: String? = nil, url: String? = nil) {
        (self.text, self.level, self.error, self.url) = (text, level, error, url)
    }

    /// The text, the error, and the URL of the message in one line.
    public var description: String { text + details }

    /// The parts that may contain the names of hosts and files.
    var details: String { (error.map { ": \($0)" } ?? "") + (url.map { " [\($0)]" } ?? "") }
}
