#if canImport(os)
internal import os
#elseif ServerStack
internal import Logging
#endif

/// One line for what an operator wants to know; never a secret, since callers pass redacted URLs only.
///
/// It goes to the unified log on Apple's systems and to swift-log elsewhere; without the trait `ServerStack` there is
/// no log on Linux.
struct Log: Sendable {
    #if canImport(os)
    private let logger = os.Logger(subsystem: "async-downloads", category: "transfer")
    #elseif ServerStack
    private let logger = Logging.Logger(label: "async-downloads")
    #endif

    /// What happens in the ordinary course of a transfer.
    func debug(_ message: @autoclosure () -> String) {
        #if canImport(os)
        let text = message()
        logger.debug("\(text, privacy: .public)")
        #elseif ServerStack
        logger.debug("\(message())")
        #endif
    }

    /// What cost something: bytes that were given up, a failure.
    func notice(_ message: @autoclosure () -> String) {
        #if canImport(os)
        let text = message()
        logger.notice("\(text, privacy: .public)")
        #elseif ServerStack
        logger.notice("\(message())")
        #endif
    }
}
