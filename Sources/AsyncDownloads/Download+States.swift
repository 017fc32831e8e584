extension Download {
    /// Where a download stands.
    public typealias State = DownloadState

    /// Where the download stands now, and each time that this changes.
    ///
    /// The stream ends after a final state. States that pass while nobody reads are left out, the last one never is.
    /// Reading it keeps no download alive, and leaving it, or cancelling its task, changes nothing.
    public var states: AsyncStream<State> {
        let events = Mutex(Optional(StateEvents(self)))
        return AsyncStream {
            // One consumer reads a stream, so that nobody else comes between.
            guard var current = events.withLock({ $0 }) else { return nil }
            let state = await current.next()
            events.withLock { $0 = state == nil ? nil : current }
            return state
        }
    }
}

/// Turns events into states.
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
            // An event says that something has changed; what it is now is asked of the download itself.
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
