#if canImport(os)
internal import os
#endif
#if ServerStack
internal import Logging
#endif

/// A log for operators.
///
/// Its messages go to the closure or the logger of the configuration or, without one, to the unified log on Apple's
/// platforms and to swift-log elsewhere. On Linux without the trait `ServerStack`, nothing is logged then.
struct Log: Sendable {
    private let output: @Sendable (LogMessage) -> Void

    /// Creates a log of the system.
    init() {
        #if canImport(os)
        let logger = os.Logger(subsystem: "io.github.async-downloads", category: "transfer")
        output = { logger.write($0) }
        #elseif ServerStack
        self.init(Logging.Logger(label: "async-downloads"))
        #else
        output = { _ in }
        #endif
    }

    /// Creates a log that passes its messages to a closure.
    init(_ body: @escaping @Sendable (LogMessage) -> Void) {
        output = body
    }

    #if ServerStack
    /// Creates a log that writes to a logger.
    init(_ logger: Logging.Logger) {
        output = { logger.write($0) }
    }
    #endif

    /// Logs an event in the normal course of a transfer.
    func debug(_ text: String, _ error: (any Error)? = nil, url: String? = nil) {
        output(LogMessage(text, level: .debug, error: error.map { "\($0)" }, url: url))
    }

    /// Logs an event that had a cost, such as a failure or discarded bytes.
    func notice(_ text: String, _ error: (any Error)? = nil, url: String? = nil) {
        output(LogMessage(text, error: error.map { "\($0)" }, url: url))
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
    fileprivate func write(_ message: LogMessage) {
        var metadata: Metadata = [:]
        metadata["url"] = message.url.map { .string($0) }
        metadata["error"] = message.error.map { .string($0) }
        log(level: message.level == .debug ? .debug : .notice, "\(message.text)", metadata: metadata)
    }
}
#endif
