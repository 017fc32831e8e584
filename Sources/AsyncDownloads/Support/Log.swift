#if canImport(os)
internal import os
#elseif ServerStack
internal import Logging
#endif

/// A log for operators.
///
/// Its lines never contain a secret, because the code that logs passes redacted URLs only. The log is the unified log
/// on Apple platforms and swift-log elsewhere. On Linux without the trait `ServerStack`, nothing is logged.
struct Log: Sendable {
    #if canImport(os)
    private let logger = os.Logger(subsystem: "async-downloads", category: "transfer")
    #elseif ServerStack
    private let logger = Logging.Logger(label: "async-downloads")
    #endif

    /// Logs what happens in the normal course of a transfer.
    func debug(_ message: @autoclosure () -> String) {
        #if canImport(os)
        let text = message()
        logger.debug("\(text, privacy: .public)")
        #elseif ServerStack
        logger.debug("\(message())")
        #endif
    }

    /// Logs something that had a cost, such as a failure or discarded bytes.
    func notice(_ message: @autoclosure () -> String) {
        #if canImport(os)
        let text = message()
        logger.notice("\(text, privacy: .public)")
        #elseif ServerStack
        logger.notice("\(message())")
        #endif
    }
}
