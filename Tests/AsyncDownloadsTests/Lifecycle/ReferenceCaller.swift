@testable import AsyncDownloads

/// One caller of a lifecycle run: what he does, what he has heard, and what the model says of him.
final class ReferenceCaller {
    enum Outcome { case left, finished(SteppedObject), failed }

    let number: Int
    let resource: Int
    /// nil for memory.
    let destination: String?
    /// nil when he has let go of it.
    private(set) var download: Download?
    private(set) var listening: Task<DownloadError?, Never>?
    private(set) var awaiting: Task<Result<DownloadedFile, DownloadError>, Never>?
    private let heard = Heard()

    var isPaused = false
    var outcome: Outcome?
    /// Whether he has heard of his latest pause.
    var knowsOfPause = true
    var checkedCount = 0

    init(_ number: Int, resource: Int, destination: String?, _ download: Download, listens: Bool, awaits: Bool) {
        self.number = number
        self.resource = resource
        self.destination = destination
        self.download = download
        if listens {
            listening = Task { [heard] in
                do {
                    for try await event in download.events { heard.add(event) }
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
    var events: [DownloadEvent] { heard.events }
    var consumerCount: Int { (listening == nil ? 0 : 1) + (awaiting == nil ? 0 : 1) }

    /// Lets go of the handle.
    func drop() { download = nil }

    /// Cancels one of his tasks, and waits until it has returned; true when nothing listens for him any more.
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

    /// Waits until his tasks have heard everything that there is, and wait for more.
    func performEffects() async {
        guard let download else { return }
        while !download.isHeard(by: consumerCount) { await Task.yield() }
    }
}

/// The events that a task has read from a stream.
private final class Heard: Sendable {
    private let state = Mutex<[DownloadEvent]>([])

    var events: [DownloadEvent] { state.withLock { $0 } }

    func add(_ event: DownloadEvent) { state.withLock { $0.append(event) } }
}

extension Download {
    /// Whether it is over, or as many consumers wait for news of it as there are.
    fileprivate func isHeard(by count: Int) -> Bool {
        guard case .transfer(let transfer, let caller) = source else { return true }
        return transfer.withState { state in
            guard let subscriber = state.subscribers.all[caller], subscriber.outcome == nil else { return true }
            let waiting = subscriber.buffers.values.filter { buffer in
                var copy = buffer
                // Whoever is handed a copy's event at once waits for it; he is not woken by a copy.
                return !copy.put(.waiting).isEmpty
            }
            return subscriber.waiters.count + waiting.count == count
        }
    }
}
