/// How one download of a batch ended.
public struct BatchOutcome: Sendable {
    /// The request's place in the batch.
    public let index: Int
    /// The request.
    public let request: DownloadRequest
    /// The file, or why it is not there.
    public let result: Result<DownloadedFile, DownloadError>
}

/// The results of many downloads, each as soon as it is there.
///
/// ```swift
/// for try await outcome in downloader.batch(requests, limit: 8) {
///     print(outcome.request.url, outcome.result)
/// }
/// ```
///
/// Each iteration takes as many requests as there is room for, in their order, starts them, and waits for the first
/// outcome; outcomes come in the order in which they are there. A download counts towards the limit until its outcome is
/// taken, so a slow loop holds at most `limit` of them. Nothing starts between two iterations, or after the last one. One
/// failure does not stop the rest.
///
/// Leaving the loop, or canceling its task, cancels the downloads that are running; their bytes are kept. A canceled loop
/// throws, so that it cannot be taken for a complete one.
public struct DownloadBatch<Requests: Sequence>: AsyncSequence where Requests.Element == DownloadRequest {
    /// How one download of the batch ended.
    public typealias Outcome = BatchOutcome

    let downloader: Downloader
    let requests: Requests
    let limit: Int

    /// Makes an iterator, which starts nothing until it is asked for the first outcome.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(requests: requests.makeIterator(), window: BatchWindow(downloader, limit: limit))
    }

    /// Starts the downloads and delivers their outcomes.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var requests: Requests.Iterator
        fileprivate let window: BatchWindow
        private var isExhausted = false

        fileprivate init(requests: Requests.Iterator, window: BatchWindow) {
            self.requests = requests
            self.window = window
        }

        /// The next outcome; nil when all are there.
        ///
        /// - Throws: ``DownloadError/Code/cancelled`` when the task is canceled. How a download ends is no error here.
        public mutating func next() async throws -> BatchOutcome? {
            while !Task.isCancelled, !isExhausted, window.hasRoom {
                guard let request = requests.next() else {
                    isExhausted = true
                    break
                }
                window.start(request)
            }
            switch await window.next() {
            case .outcome(let outcome): return outcome
            case .cancelled: throw DownloadError(.cancelled)
            case .idle, .request: return nil
            }
        }
    }
}

extension DownloadBatch: Sendable where Requests: Sendable {}

/// The results of many downloads whose requests come asynchronously; see ``DownloadBatch``.
///
/// The next request is taken while earlier downloads run, whenever there is room. When the requests end with an error, no
/// more are taken; the loop throws it after the outcomes of the running downloads.
public struct AsyncDownloadBatch<Requests: AsyncSequence>: AsyncSequence
where Requests.Element == DownloadRequest, Requests.AsyncIterator: SendableMetatype {
    /// How one download of the batch ended.
    public typealias Outcome = BatchOutcome

    let downloader: Downloader
    let requests: Requests
    let limit: Int

    /// Makes an iterator, which takes and starts nothing until it is asked for the first outcome.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(
            source: RequestSource(requests.makeAsyncIterator()), window: BatchWindow(downloader, limit: limit))
    }

    /// Takes the requests, starts the downloads and delivers their outcomes.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let source: RequestSource<Requests.AsyncIterator>
        fileprivate let window: BatchWindow
        private var isExhausted = false
        private var failure: (any Error)?

        fileprivate init(source: RequestSource<Requests.AsyncIterator>, window: BatchWindow) {
            self.source = source
            self.window = window
        }

        /// The next outcome; nil when all are there.
        ///
        /// - Throws: ``DownloadError/Code/cancelled`` when the task is canceled, or the error of the requests. How a
        ///   download ends is no error here.
        public mutating func next() async throws -> BatchOutcome? {
            while true {
                if !Task.isCancelled, !isExhausted, window.hasRoom { window.take(from: source) }
                switch await window.next() {
                case .outcome(let outcome): return outcome
                case .cancelled: throw DownloadError(.cancelled)
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
