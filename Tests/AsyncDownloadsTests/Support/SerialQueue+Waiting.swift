import Dispatch

@testable import AsyncDownloads

extension SerialQueue {
    /// Blocks the thread until the operations that were added before have ended.
    func waitUntilEmpty() {
        let isDone = DispatchSemaphore(value: 0)
        async { isDone.signal() }
        isDone.wait()
    }
}
