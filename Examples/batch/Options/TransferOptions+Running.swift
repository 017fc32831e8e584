internal import AsyncDownloads

extension TransferOptions {
    /// Downloads the items of a source, until all of them have ended or a signal has stopped the run.
    ///
    /// - Returns: The outcome, and the signal if there was one.
    func download(
        _ source: some ItemSource, console: Console, results: any ResultSink
    ) async throws -> (RunOutcome, signal: Int32?) {
        let session = Session(
            downloaderConfiguration, settings: try requestSettings, window: window, console: console, results: results)
        let signals = Signals { await session.stop() }
        defer { signals.cancel() }
        return (await session.run(source), signals.received)
    }
}
