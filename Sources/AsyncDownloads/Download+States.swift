extension Download {
    /// The state of a download.
    public typealias State = DownloadState

    /// The current state of the download, followed by each change.
    ///
    /// The stream ends after a final state. States that pass while the consumer isn't reading may be omitted; the final
    /// state never is. A reader of this stream is an observer: it doesn't keep the transfer running, and neither ending
    /// the loop nor canceling its task affects the download.
    public var states: AsyncStream<State> {
        let events = Mutex(Optional(StateEvents(self)))
        return AsyncStream {
            // A stream has one consumer, so no other call can run between the two accesses.
            guard var current = events.withLock({ $0 }) else { return nil }
            let state = await current.next()
            events.withLock { $0 = state == nil ? nil : current }
            return state
        }
    }
}

/// The conversion of a download's events into its states.
private struct StateEvents: Sendable {
    private let download: Download
    private let events: AsyncThrowingStream<DownloadEvent, any Error>
    private var last: Download.State?

    init(_ download: Download) {
        self.download = download
        events = download.updates
    }

    mutating func next() async -> Download.State? {
        if last?.isFinal == true { return nil }
        if last == nil { return take(download.state) }
        var iterator = events.makeAsyncIterator()
        while true {
            // An event indicates only that something has changed; the download itself provides the current state.
            let event = try? await iterator.next()
            let state = download.state
            if state != last { return take(state) }
            if event == nil { return nil }
        }
    }

    private mutating func take(_ state: Download.State) -> Download.State {
        last = state
        return state
    }
}
