@testable import AsyncDownloads

// Access to internal state, for tests that have to act at a certain moment.
extension TransferSlot {
    /// Returns a value that is computed from the state of the active transfer, which is created if necessary.
    func withState<Value: Sendable>(_ body: (inout ActiveTransfer.State) -> Value) -> Value {
        activate().withState(body)
    }
}

extension Downloader {
    /// The number of active subscribers of all transfers.
    var callerCount: Int { liveTransfers.reduce(0) { $0 + $1.withState { $0.subscribers.activeCount } } }
}

extension Download {
    /// Whether a task awaits the file.
    var hasWaiter: Bool {
        guard let subscription, let transfer = foregroundTransfer else { return false }
        return transfer.withState { $0.subscribers[subscription.subscriber]?.waiters.isEmpty == false }
    }
}

extension Download {
    /// The number of bytes that the running digests have processed.
    var digestedByteCount: Int64 {
        guard let transfer = foregroundTransfer else { return 0 }
        return transfer.withState { $0.storage.digests.position(of: $0.wantedDigests) }
    }
}

extension TestEnvironment {
    /// Starts a request whose body stalls at `offset`, and cancels it there.
    func leave(_ request: DownloadRequest, at offset: Int64) async throws {
        let download = downloader.start(request)
        try await download.progress(reaching: offset)
        download.cancel()
        while !downloader.liveTransfers.isEmpty { await Task.yield() }
    }
}

extension Download {
    /// Waits until no callback of an engine is in progress, so that the idle timeout counts the time from now on.
    func waitForCallbacks() async {
        guard let transfer = foregroundTransfer else { return }
        while transfer.withState({ $0.connections.all.contains { $0.receiver.callbackStatus.isInCallback } }) {
            await Task.yield()
        }
    }
}
