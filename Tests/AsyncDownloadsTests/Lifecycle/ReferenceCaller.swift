@testable import AsyncDownloads

/// A download in a life cycle run: its tasks, the events they have received, and what the model expects.
final class ReferenceCaller {
    enum Outcome { case canceled, finished(SteppedObject), failed }

    let number: Int
    let resource: Int
    /// The name of the destination, or nil for memory.
    let destination: String?
    /// The handle, or nil after it was released.
    private(set) var download: Download?
    private(set) var listening: Task<DownloadError?, Never>?
    private(set) var awaiting: Task<Result<DownloadedFile, DownloadError>, Never>?
    private let received = ReceivedEvents()

    var isPaused = false
    var outcome: Outcome?
    /// Whether the latest pause has been emitted.
    var hasReceivedPause = true
    var checkedCount = 0

    init(_ number: Int, resource: Int, destination: String?, _ download: Download, listens: Bool, awaits: Bool) {
        self.number = number
        self.resource = resource
        self.destination = destination
        self.download = download
        if listens {
            listening = Task { [received] in
                do {
                    for try await event in download.events { received.add(event) }
                    return nil
                } catch {
                    return error as? DownloadError
                }
            }
        }
        if awaits {
            awaiting = Task {
                do throws(DownloadError) {
                    return .success(try await download.file)
                } catch {
                    return .failure(error)
                }
            }
        }
    }

    var isAttached: Bool { outcome == nil }
    var wantsToRun: Bool { isAttached && !isPaused }
    var events: [DownloadEvent] { received.events }
    var consumerCount: Int { (listening == nil ? 0 : 1) + (awaiting == nil ? 0 : 1) }

    /// Releases the handle.
    func drop() { download = nil }

    /// Cancels one of the tasks and waits for its end; returns whether no consumer is left.
    func cancelTask(_ isListener: Bool) async -> Bool {
        if isListener {
            listening?.cancel()
            _ = await listening?.value
            listening = nil
        } else {
            awaiting?.cancel()
            _ = await awaiting?.value
            awaiting = nil
        }
        return consumerCount == 0
    }

    /// Waits until the tasks have received every event and wait for the next one.
    func waitUntilIdle() async {
        guard let download else { return }
        while !download.isAwaited(by: consumerCount, received: listening.map { _ in received.events.count }) {
            await Task.yield()
        }
    }
}

/// The events that a task has read from a stream.
private final class ReceivedEvents: Sendable {
    private let state = Mutex<[DownloadEvent]>([])

    var events: [DownloadEvent] { state.withLock { $0 } }

    func add(_ event: DownloadEvent) { state.withLock { $0.append(event) } }
}

extension Download {
    /// Returns whether the download has ended, or `count` consumers wait for its next event.
    ///
    /// - Parameter received: The number of events that the listening task has received; nil if there is none.
    fileprivate func isAwaited(by count: Int, received: Int?) -> Bool {
        guard let subscription, let transfer = foregroundTransfer else { return true }
        return transfer.withState { state in
            guard let subscriber = state.subscribers[subscription.subscriber], subscriber.outcome == nil else {
                return true
            }
            return subscriber.waiters.count + subscriber.streams.count == count
                && subscriber.streams.first?.deliveredCount == received
        }
    }
}
