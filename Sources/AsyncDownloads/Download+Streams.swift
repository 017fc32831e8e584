extension Download {
    /// The events of the download, as an asynchronous stream.
    ///
    /// The task that reads the stream owns the download: canceling the task cancels this download, unless another task
    /// reads or awaits this handle. The received bytes are kept. The loop then always throws
    /// ``DownloadError/Code/cancelled``, even if the cancellation happens between two events, so a canceled loop never
    /// looks finished. A user interface, whose tasks are canceled when a view disappears, reads ``updates`` instead.
    /// Leaving the loop without a cancellation has no effect on the download.
    ///
    /// The first stream that is created begins with the events since the download started: at most the latest 100, with
    /// consecutive progress events combined, and after ``DownloadEvent/omitted(count:)`` if there were more. Later
    /// streams begin with the current state. A stream stays open across pauses. It ends after
    /// ``DownloadEvent/finished(_:)``, or by throwing the ``DownloadError`` that ended the download. Each stream has one
    /// consumer; create another stream for a second one.
    ///
    /// A stream buffers up to a thousand unread events. After that, events are omitted, and
    /// ``DownloadEvent/omitted(count:)`` reports how many.
    public var events: AsyncThrowingStream<DownloadEvent, any Error> {
        switch source {
        case .refused(let error): AsyncThrowingStream { $0.finish(throwing: error) }
        case .subscriber(let subscription): EventStream.open(of: subscription.subscriber, subscription.transfer)
        }
    }

    /// The state of a download.
    public typealias State = DownloadState
}
