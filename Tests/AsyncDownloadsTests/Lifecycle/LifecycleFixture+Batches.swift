import AsyncDownloads
import LoopbackServer

/// The parts of a fixture that tests of batches use.
extension LifecycleFixture {
    /// Returns requests for `/0`, `/1`, and so on.
    func requests(_ count: Int) throws -> [DownloadRequest] {
        try (0..<count).map { try request("/\($0)", to: "\($0).bin") }
    }

    /// Responds to every exchange as soon as it starts, until the task is canceled.
    func serve() -> Task<Void, Never> {
        Task {
            while !Task.isCancelled {
                await step(InterruptionPoint.object)
                await Task.yield()
            }
        }
    }
}

extension Gate {
    /// Waits until the gate is open, regardless of cancellation.
    func opened() async {
        await withCheckedContinuation { continuation in onOpen { continuation.resume() } }
    }
}

extension SteppedExchange {
    /// Sends the whole object.
    func complete(_ object: SteppedObject = InterruptionPoint.object) {
        answer(object)
        deliver(object.content.length)
        end(.complete)
    }
}
