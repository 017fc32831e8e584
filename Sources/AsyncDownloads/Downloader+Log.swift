extension Downloader.Configuration {
    /// The log that the settings choose.
    var log: Log {
        if let onLog { return Log(onLog) }
        #if ServerStack
        if let logger { return Log(logger) }
        #endif
        return Log()
    }
}
