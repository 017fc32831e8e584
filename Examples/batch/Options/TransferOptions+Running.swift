internal import AsyncDownloads

extension TransferOptions {
    /// Downloads the items of a source, until all of them have ended or a signal has stopped the run.
    ///
    /// - Parameter version: The new version of the output directory, if the downloads are staged.
    /// - Returns: The outcome, and the signal if there was one.
    func download(
        _ source: some ItemSource, into version: StagedDirectory? = nil, console: Console, results: (any ResultSink)?
    ) async throws -> (RunOutcome, signal: Int32?) {
        let session = Session(
            downloaderConfiguration, settings: try requestSettings, window: window, version: version, console: console,
            results: results)
        let signals = Signals { await session.stop() }
        defer { signals.cancel() }
        return (await session.run(source), signals.received)
    }
}
