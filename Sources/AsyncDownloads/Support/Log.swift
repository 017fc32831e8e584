#if canImport(os)
internal import os
#endif
#if ServerStack
internal import Logging
#endif

/// A log for operators.
///
/// Its messages go to the closure or the logger of the configuration or, without one, to the unified log on Apple's platforms
/// and to swift-log elsewhere. On Linux without the trait `ServerStack`, nothing is logged then.
struct Log: Sendable {
    private enum Output: Sendable {
        case system
        case closure(@Sendable (LogMessage) -> Void)
        #if ServerStack
        case logger(Logging.Logger)
        #endif
    }

    #if canImport(os)
    private static let system = os.Logger(subsystem: "io.github.async-downloads", category: "transfer")
    #elseif ServerStack
    private static let system = Logging.Logger(label: "async-downloads")
    #endif

    private let output: Output

    /// Creates a log of the system.
    init() {
        output = .system
    }

    /// Creates a log that passes its messages to a closure.
    init(_ body: @escaping @Sendable (LogMessage) -> Void) {
        output = .closure(body)
    }

    #if ServerStack
    /// Creates a log that writes to a logger.
    init(_ logger: Logging.Logger) {
        output = .logger(logger)
    }
    #endif

    /// Logs what happens in the normal course of a transfer.
    func debug(_ text: String, _ error: (any Error)? = nil, url: String? = nil) {
        write(LogMessage(text, level: .debug, error: error.map { "\($0)" }, url: url))
    }

    /// Logs something that had a cost, such as a failure or discarded bytes.
    func notice(_ text: String, _ error: (any Error)? = nil, url: String? = nil) {
        write(LogMessage(text, error: error.map { "\($0)" }, url: url))
    }

    private func write(_ message: LogMessage) {
        switch output {
        case .closure(let body): body(message)
        #if ServerStack
        case .logger(let logger): logger.write(message)
        #endif
        case .system: Self.writeToSystem(message)
        }
    }

    private static func writeToSystem(_ message: LogMessage) {
        #if canImport(os)
        let (text, details) = (message.text, message.details)
        switch message.level {
        case .debug: system.debug("\(text, privacy: .public)\(details, privacy: .private)")
        case .notice: system.notice("\(text, privacy: .public)\(details, privacy: .private)")
        }
        #elseif ServerStack
        system.write(message)
        #endif
    }
}

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
