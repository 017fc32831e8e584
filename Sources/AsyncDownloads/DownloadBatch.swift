/// The result of one download in a batch.
public struct BatchOutcome: Sendable {
    /// The zero-based position of the request in the batch.
    public let index: Int
    /// The request of the download.
    public let request: DownloadRequest
    /// The downloaded file, or the error that ended the download.
    public let result: Result<DownloadedFile, DownloadError>
}

/// A sequence of downloads that delivers each result as soon as it is available.
///
/// ```swift
/// for try await outcome in downloader.batch(requests, limit: 8) {
///     print(outcome.request.url, outcome.result)
/// }
/// ```
///
/// Each iteration starts as many requests as the limit permits, in their order, and waits for the first outcome.
/// Outcomes are delivered in the order in which the downloads end. A download counts toward the limit until its outcome
/// has been delivered, so a slow loop holds at most `limit` outcomes. No download starts between two iterations or
/// after the last one. The failure of one download doesn't stop the others.
///
/// Leaving the loop, or canceling its task, cancels the running downloads; their bytes are kept. A canceled loop throws
/// an error, so it can't be mistaken for a complete one.
///
/// A batch isn't built on a task group, because a task group awaits its child tasks at the end of a scope, whereas an
/// iterator can be stored, and leaving a loop or releasing an iterator awaits nothing. When the code after the loop
/// runs, the remaining downloads are therefore canceled but may still be closing their files. If that code requires
/// that all downloads have ended, use ``Downloader/downloadEach(_:limit:body:)-(Sequence<DownloadRequest>,_,_)`` or
/// ``Downloader/downloadAll(_:limit:)``, which run in task groups.
public struct DownloadBatch<Requests: Sequence>: AsyncSequence where Requests.Element == DownloadRequest {
    let downloader: Downloader
    let requests: Requests
    let limit: Int

    /// Returns an iterator, which starts no download until its first outcome is requested.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(requests: requests.makeIterator(), window: BatchWindow(downloader, limit: limit))
    }

    /// An iterator that starts the downloads and delivers their outcomes.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var requests: Requests.Iterator
        fileprivate let window: BatchWindow
        private var isExhausted = false

        fileprivate init(requests: Requests.Iterator, window: BatchWindow) {
            self.requests = requests
            self.window = window
        }

        /// Returns the next outcome, or `nil` if all outcomes have been delivered.
        ///
        /// - Throws: ``DownloadError/Code/cancelled`` if the task is canceled. The failure of a download isn't thrown
        ///   but delivered in its outcome.
        public mutating func next() async throws -> BatchOutcome? {
            while true {
                while !Task.isCancelled, !isExhausted, window.hasRoom {
                    guard let request = requests.next() else {
                        isExhausted = true
                        break
                    }
                    window.start(request)
                }
                switch await window.next() {
                case .outcome(let outcome): return outcome
                case .room: continue
                case .cancelled: throw DownloadError(.cancelled)
                case .idle: return nil
                case .request: preconditionFailure("a request that no sequence has delivered asynchronously")
                }
            }
        }
    }
}

extension DownloadBatch: Sendable where Requests: Sendable {}

/// A sequence of downloads whose requests arrive asynchronously; see ``DownloadBatch``.
///
/// The next request is awaited while earlier downloads run, if the limit permits another download. If the sequence of
/// requests throws an error, no more requests are read, and the loop throws the error after the outcomes of the running
/// downloads.
public struct AsyncDownloadBatch<Requests: AsyncSequence>: AsyncSequence
where Requests.Element == DownloadRequest, Requests.AsyncIterator: SendableMetatype {
    let downloader: Downloader
    let requests: Requests
    let limit: Int

    /// Returns an iterator, which reads no request and starts no download until its first outcome is requested.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(
            source: RequestSource(requests.makeAsyncIterator()), window: BatchWindow(downloader, limit: limit))
    }

    /// An iterator that reads the requests, starts the downloads, and delivers their outcomes.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let source: RequestSource<Requests.AsyncIterator>
        fileprivate let window: BatchWindow
        private var isExhausted = false
        private var failure: (any Error)?

        fileprivate init(source: RequestSource<Requests.AsyncIterator>, window: BatchWindow) {
            self.source = source
            self.window = window
        }

        /// Returns the next outcome, or `nil` if all outcomes have been delivered.
        ///
        /// - Throws: ``DownloadError/Code/cancelled`` if the task is canceled, or the error of the sequence of
        ///   requests. The failure of a download isn't thrown but delivered in its outcome.
        public mutating func next() async throws -> BatchOutcome? {
            while true {
                if !Task.isCancelled, !isExhausted, window.hasRoom { window.take(from: source) }
                switch await window.next() {
                case .outcome(let outcome): return outcome
                case .cancelled: throw DownloadError(.cancelled)
                case .room: continue
                case .request(.success(let request?)): window.start(request)
                case .request(.success(nil)): isExhausted = true
                case .request(.failure(let error)): (isExhausted, failure) = (true, error)
                case .idle:
                    defer { failure = nil }
                    if let failure { throw failure }
                    return nil
                }
            }
        }
    }
}

extension AsyncDownloadBatch: Sendable where Requests: Sendable {}
