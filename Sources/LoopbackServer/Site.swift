internal import NIOCore
internal import Synchronization

/// The state that the server's users and its connections share.
final class Site: Sendable {
    private let state = Mutex(SiteState())

    func read<Value: Sendable>(_ value: (borrowing SiteState) -> Value) -> Value {
        state.withLock { value($0) }
    }

    func serve(_ resource: Resource, at path: String) {
        state.withLock { $0.serve(resource, at: path) }
    }

    func addConnection() -> Int {
        state.withLock { $0.addConnection() }
    }

    func addBodyBytes(_ count: Int, at path: String) {
        state.withLock { $0.addBodyBytes(count, at: path) }
    }

    func begin(_ request: RequestHead, connection: Int) -> Exchange {
        let now = HTTPDate.now
        let begun = state.withLock { $0.begin(request, connection: connection, now: now) }
        for waiter in begun.waiters { waiter.resume() }
        return Exchange(number: begun.number, path: request.path, plan: begun.plan)
    }

    func hold(_ number: Int, _ hold: SiteState.Hold) {
        state.withLock { $0.hold(number, hold) }?.succeed()
    }

    func release(_ path: String) {
        for hold in state.withLock({ $0.release(path) }) { hold.succeed() }
    }

    func end(_ number: Int) {
        let ended = state.withLock { $0.end(number) }
        ended.hold?.fail(ChannelError.ioOnClosedChannel)
        for waiter in ended.waiters { waiter.resume() }
    }

    /// Returns when the condition holds, the site is closed or the task is cancelled.
    func wait(for condition: SiteState.Condition, at path: String) async {
        let number = state.withLock { $0.addWait() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { $0.wait(number, for: condition, at: path, continuation) }?.resume()
                // A cancellation before this point found no waiter.
                if Task.isCancelled { cancelWaiter(number) }
            }
        } onCancel: {
            cancelWaiter(number)
        }
    }

    func close() {
        for waiter in state.withLock({ $0.close() }) { waiter.resume() }
    }

    private func cancelWaiter(_ number: Int) {
        state.withLock { $0.cancelWaiter(number) }?.resume()
    }
}
